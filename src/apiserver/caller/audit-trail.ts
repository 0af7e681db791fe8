// Calls the tenant's audit for one request: at most one `begins` and exactly one `ends`, whether the request succeeds or fails.
import type { IncomingMessage } from 'node:http';
import type { Audit, AuditEntry, AuditedStream } from '../kinds/kit.ts';
import type { Target } from '../request/target.ts';

export class AuditTrail {
  #audit: Audit | undefined;
  #entry: AuditEntry;
  #hasEnded = false;
  /** Set after authorization has allowed the request. */
  isAllowed = false;

  constructor(audit: Audit | undefined, entry: AuditEntry) {
    this.#audit = audit;
    this.#entry = entry;
  }

  get entry(): AuditEntry {
    return this.#entry;
  }

  async begins(): Promise<void> {
    await this.#audit?.begins(this.#entry);
  }

  /** Only the first call counts: a fault while sending the answer must not add a second record. */
  async ends(code: number, stream?: AuditedStream): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.#audit?.ends(this.#entry, code, stream);
  }
}

export function entryOf(request: IncomingMessage, target: Target): AuditEntry {
  const { method = '', headers, socket } = request;
  const userAgent = headers['user-agent'] ?? '';
  return { target, method, user: undefined, source: socket.remoteAddress ?? '', userAgent };
}
