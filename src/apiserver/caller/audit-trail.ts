// One request's way through the tenant's audit: at most one `begins`, exactly one `ends`, whatever becomes of the request.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Audit, AuditEntry, AuditedStream } from '../kinds/kit.ts';
import type { Target } from '../request/target.ts';

export class AuditTrail {
  #audit: Audit | undefined;
  #entry: AuditEntry;
  #hasEnded = false;
  /** The caller may do what was asked for. */
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

  /** The first end counts; a fault on the way to the client comes after it. */
  async ends(code: number, stream?: AuditedStream): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.#audit?.ends(this.#entry, code, stream);
  }
}

/** What a client may call its request: short, and nothing that could be taken for another line. */
const plainId = /^[\w-]{1,64}$/;

export function entryOf(request: IncomingMessage, target: Target): AuditEntry {
  const { method = '', headers, socket } = request;
  const userAgent = headers['user-agent'] ?? '';
  const given = headers['audit-id'];
  const id = typeof given === 'string' && plainId.test(given) ? given : randomUUID();
  return { id, target, method, user: undefined, source: socket.remoteAddress ?? '', userAgent };
}
