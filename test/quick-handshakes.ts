// Run before every test file: the key exchange that costs least, because tests open ten thousand connections, each with both ends in one process.
// Programs that tests start agree on what Node prefers.
import tls from 'node:tls';

tls.DEFAULT_ECDH_CURVE = 'X25519';
