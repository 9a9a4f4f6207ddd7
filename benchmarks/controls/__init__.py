"""Are planted controls judged correctly in every hunt, however short, on idle and busy machines?"""
