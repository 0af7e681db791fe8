// One request's way through the tenant's audit: at most one `begins`, exactly one `ends`, even when the request fails.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { WrittenText } from '../kinds/kind.ts';
import type { Audit, AuditedRequest, PassedStream } from '../kinds/kit.ts';
import type { Target } from '../request/target.ts';

/** The deletion of a selection may go through a hundred thousand objects, and their texts wait for its end. */
export const mostWritten = 100;

export class AuditTrail {
  #audit: Audit | undefined;
  #entry: AuditedRequest;
  #hasEnded = false;
  /** Set after authorization has allowed the request. */
  isAllowed = false;

  constructor(audit: Audit | undefined, entry: AuditedRequest) {
    this.#audit = audit;
    this.#entry = entry;
  }

  get entry(): AuditedRequest {
    return this.#entry;
  }

  async begins(): Promise<void> {
    await this.#audit?.begins(this.#entry);
  }

  wrote(written: WrittenText): void {
    this.#entry.written ??= { first: [], count: 0 };
    this.#entry.written.count++;
    if (this.#entry.written.first.length < mostWritten) this.#entry.written.first.push(written);
  }

  async streamStarts(): Promise<void> {
    await this.#audit?.streamStarts?.(this.#entry);
  }

  async streamEnds(end: PassedStream): Promise<void> {
    await this.#audit?.streamEnds?.(this.#entry, end);
  }

  /** Only the first call counts: a fault while sending the answer must not add a second record. */
  async ends(code: number): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.#audit?.ends(this.#entry, code);
  }
}

/** The form of a client's own id for a request: short, and without characters that could start another log line. */
const plainId = /^[\w-]{1,64}$/;

export function entryOf(request: IncomingMessage, target: Target): AuditedRequest {
  const { method = '', headers, socket } = request;
  const userAgent = headers['user-agent'] ?? '';
  const given = headers['audit-id'];
  const id = typeof given === 'string' && plainId.test(given) ? given : randomUUID();
  // Without its path the line would not say what was asked for.
  const audited = target.outside === undefined ? target : { ...target, path: target.outside };
  return { id, target: audited, method, user: undefined, source: socket.remoteAddress ?? '', userAgent };
}
