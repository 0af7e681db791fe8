// The certificates of one API server as Node wants them for a connection. Made once for all its connections, because each would read them
// again, which takes a millisecond, and keep them: 30 of the 208 KiB of an idle watch. In: an access. Out: options for TLS.
import { createSecureContext, type SecureContext } from 'node:tls';
import type { ClusterAccess } from './access.ts';

/** Throws when the certificates cannot be read. */
export function sharedContext({ tls: { ca, cert, key } }: ClusterAccess): { secureContext: SecureContext } {
  return { secureContext: createSecureContext(certificates({ ca, cert, key })) };
}

/** Of use where the fault of certificates that cannot be read is to come with the connection. */
export function certificatesOf(access: ClusterAccess): { secureContext: SecureContext } | Certificates {
  try {
    return sharedContext(access);
  } catch {
    const { ca, cert, key } = access.tls;
    return certificates({ ca, cert, key });
  }
}

type Certificates = Partial<Pick<ClusterAccess['tls'], 'ca' | 'cert' | 'key'>>;

function certificates({ ca, cert, key }: Record<'ca' | 'cert' | 'key', string | undefined>): Certificates {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
