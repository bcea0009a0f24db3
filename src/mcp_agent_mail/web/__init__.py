"""The pages for people: HTML made here, over the services that tools call. No rule and no SQL stands here."""
