"""Running a program under the recorder: in this process, or in a child."""
