// {mark}. "{am}"
