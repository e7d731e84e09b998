// Package kazoo runs kazoo, the Python client, through every kind of target: a
// provider and a consumer through the scenario of the other families, and
// scripts (app/*.py) whose transcripts on the bridge must be those of the
// control, line by line.
//
// kazoo comes from PyPI in the version that app/requirements.txt names, into a
// virtual environment in the cache. It restores watches by reading again, never
// with setWatches, and does not give up a session before the server does.
package kazoo
