// Hostward's own CA, which only signs client certificates for the ingress listener. It is never the CA of a virtual cluster: the
// API server there would accept its certificates without asking Hostward. It lies in a folder of its own in dataDir.
import { join } from 'node:path';
import { authorityIn } from '../../../apiserver/tls/authority-folder.ts';
import type { Authority } from '../../../apiserver/tls/certificates.ts';
import type { Clock } from '../../../clock.ts';

export class ClientAuthority {
  readonly #folder: string;
  readonly #clock: Clock;
  #authority: Promise<Authority> | undefined;

  constructor(dataDir: string, clock: Clock) {
    this.#folder = join(dataDir, 'client-ca');
    this.#clock = clock;
  }

  get(): Promise<Authority> {
    this.#authority ??= authorityIn(this.#folder, 'hostward-clients', this.#clock.wallTime()).catch(
      (error: unknown) => {
        // While somebody replaces the two files they do not match for a moment, which must not be remembered until the next start.
        this.#authority = undefined;
        throw error;
      },
    );
    return this.#authority;
  }
}
