// Reloads a serving certificate from files that another program renews. In: two paths and a clock. Out: each new pair of
// certificate and key. While the two files do not match, as in the middle of a renewal, the old pair stays in use.
import type { Clock, Timer } from '../../clock.ts';
import { readNamedFile, reasonOf } from '../../cluster/credentials/secret-file.ts';
import type { Log } from '../../log.ts';
import { pairProblem } from './pem-text.ts';
import { NamedFileFault } from './secret-files.ts';

export interface ServingPair {
  certPem: string;
  keyPem: string;
}

export interface CertificatePaths {
  certificate: string;
  key: string;
}

/** Renewals happen weeks before expiry, so ten seconds are early enough, and reading two small files is cheap. */
const reloadEveryMs = 10_000;

/** Throws when a file is missing or the key does not match the certificate. */
export async function readPair(paths: CertificatePaths): Promise<ServingPair> {
  const [certPem, keyPem] = await Promise.all([textIn(paths, 'certificate'), textIn(paths, 'key')]);
  const problem = pairProblem(certPem, keyPem, paths.certificate);
  if (problem === undefined) return { certPem, keyPem };
  const path = paths[problem.member];
  throw new NamedFileFault(path, `read "${path}": ${problem.sentence}`, problem.member);
}

async function textIn(paths: CertificatePaths, member: keyof CertificatePaths): Promise<string> {
  const path = paths[member];
  try {
    return await readNamedFile(path);
  } catch (error) {
    throw new NamedFileFault(path, `read "${path}": ${reasonOf(error)}`, member);
  }
}

export class CertificateFiles {
  #paths: CertificatePaths;
  #clock: Clock;
  #log: Log;
  #changed: (pair: ServingPair) => void;
  #current: ServingPair;
  #timer: Timer | undefined;
  #lastFault = '';

  constructor(options: {
    paths: CertificatePaths;
    current: ServingPair;
    clock: Clock;
    log: Log;
    changed: (pair: ServingPair) => void;
  }) {
    this.#paths = options.paths;
    this.#current = options.current;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#changed = options.changed;
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    this.#timer = this.#clock.after(reloadEveryMs, () => void this.#reload());
  }

  async #reload(): Promise<void> {
    try {
      const pair = await readPair(this.#paths);
      const isSame = pair.certPem === this.#current.certPem && pair.keyPem === this.#current.keyPem;
      if (!isSame && this.#timer !== undefined) {
        this.#changed(pair);
        this.#current = pair;
        this.#log.info({ certificate: this.#paths.certificate }, 'certificate reloaded');
      }
      this.#lastFault = '';
    } catch (error) {
      // Logged once for each fault, not every ten seconds.
      if (String(error) !== this.#lastFault) this.#log.error({ error: String(error) }, 'certificate not reloaded');
      this.#lastFault = String(error);
    }
    if (this.#timer !== undefined) this.#schedule();
  }
}
