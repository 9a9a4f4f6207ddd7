"""`%load_ext gradlife`: the verbs of the interactive session as magics of IPython and Jupyter."""
