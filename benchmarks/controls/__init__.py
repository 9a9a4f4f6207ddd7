"""Are the leaks that a hunt plants itself judged rightly in every hunt, however short, on an idle machine and a busy one?"""
