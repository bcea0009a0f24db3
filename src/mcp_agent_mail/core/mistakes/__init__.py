"""What a call that names or writes something in another way than it is wanted may mean."""
