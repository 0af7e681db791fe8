// Run before every test file: the key exchange that costs least, because tests open ten thousand connections, each with both ends in one process.
// Programs that tests start agree on what Node prefers. P-256 stays for the certificates of TLS 1.2.
import tls from 'node:tls';

tls.DEFAULT_ECDH_CURVE = 'X25519:P-256';
