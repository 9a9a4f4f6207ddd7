"""Check the installation, and collect what a bug report needs, without a traceback however broken it is."""
