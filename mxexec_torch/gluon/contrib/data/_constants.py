"""Words with a meaning of their own."""

EOS_TOKEN = "<eos>"  # the end of a sentence
