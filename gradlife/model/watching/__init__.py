"""What is told of a process that is watched for long."""
