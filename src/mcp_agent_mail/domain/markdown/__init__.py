"""As much of CommonMark as tells where the images of a text stand, with the places of everything in the source."""
