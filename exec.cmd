@rem Windows has no "exec", with which package.json starts the demo so that a shell does not stand between npm and the demo.
@%*
