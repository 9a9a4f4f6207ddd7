"""Reports: values of the model in, text for people or machines out. rich is used here and in `gradlife.cli`, nowhere else."""
