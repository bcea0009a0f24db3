"""Importing: another system's records become projects, agents, mail, leases, links and products of this one."""
