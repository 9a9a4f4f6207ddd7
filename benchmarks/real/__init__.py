"""Programs of public libraries, hunted as they are and with a leak planted: does a hunt spare the one and find the other?"""
