"""Mail that is given away, as a folder of pages that read without a server of ours, and without script."""
