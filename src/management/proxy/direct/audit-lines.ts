// Writes the audit of a direct endpoint into its log and its files, without headers, bodies and secrets, and offers it to the
// platform. In: the audit entries of requests that pass. A change whose line cannot be written is not carried out.
import type { Audit, AuditedRequest } from '../../../apiserver/kinds/kit.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { serviceUnavailable, soonSeconds } from '../../../object/meta/status.ts';
import { type AuditEntry, intentEntry, outcomeEntry } from '../../audit/entries.ts';
import { type Proxied, proxiedIn } from '../../scope/classify.ts';
import type { AuditFile } from './audit-file.ts';

export interface AuditLinesParts {
  clock: Clock;
  log: Log;
  file: Pick<AuditFile, 'append'>;
  /** Sends the line to the platform. */
  offer(entry: AuditEntry): void;
  /** Whether lines about this target are sent. The platform does not take those about other places, whose requests were refused. */
  isSent(target: Proxied['request']['target']): boolean;
  /** Kind and name of the owner, and the name of the key behind the token. */
  subjectOf(user: AuditedRequest['user']): {
    kind: 'user' | 'team' | 'subject' | 'unknown';
    name: string;
    key: string;
  };
}

const reads: ReadonlySet<string> = new Set(['get', 'head', 'options', 'list', 'watch']);

/** Names in a URL may be long, but a reader needs no more than this. */
const longestRequest = 1_000;

/** Reads are not written down, unless they are refused. */
export function auditLines(parts: AuditLinesParts): Audit {
  const { clock, log, file, offer, isSent, subjectOf } = parts;
  const begun = new WeakSet<AuditedRequest>();
  const common = (id: string) => ({ time: clock.wallTime().toISOString(), id });
  const write = async ({ request: { target } }: Proxied, entry: AuditEntry) => {
    log.info({ component: 'audit', ...entry }, entry.stage);
    await file.append(entry);
    if (isSent(target)) offer(entry);
  };
  const intent = ({ id, user, source }: AuditedRequest, proxied: Proxied) => {
    const { request, prefix, rest } = proxied;
    const entry = intentEntry(common(id), { subject: subjectOf(user), source, request, url: prefix + rest });
    return write(
      proxied,
      entry.stage === 'intent' ? { ...entry, request: entry.request.slice(0, longestRequest) } : entry,
    );
  };
  /** The request was carried out already. */
  const follow = (proxied: Proxied, entry: AuditEntry) =>
    write(proxied, entry).catch((error) =>
      log.error({ component: 'direct', error: String(error) }, 'audit line not written'),
    );
  return {
    async begins(entry) {
      const proxied = proxiedIn(entry.target);
      if (proxied === undefined || reads.has(proxied.request.verb)) return;
      begun.add(entry);
      try {
        await intent(entry, proxied);
      } catch (error) {
        log.error({ component: 'direct', error: String(error) }, 'audit line not written');
        throw new StatusFault(serviceUnavailable('the audit log cannot be written, so nothing was done', soonSeconds));
      }
    },
    async ends(entry, code) {
      const proxied = proxiedIn(entry.target);
      const hasBegun = begun.has(entry);
      if (proxied === undefined || (!hasBegun && code !== 401 && code !== 403)) return;
      if (!hasBegun)
        await intent(entry, proxied).catch((error) =>
          log.error({ component: 'direct', error: String(error) }, 'audit line not written'),
        );
      await follow(proxied, outcomeEntry(common(entry.id), code));
    },
    async streamStarts(entry) {
      const proxied = proxiedIn(entry.target);
      if (proxied !== undefined && begun.has(entry))
        await follow(proxied, { ...common(entry.id), stage: 'streamStart' });
    },
    async streamEnds(entry, end) {
      const proxied = proxiedIn(entry.target);
      if (proxied !== undefined && begun.has(entry))
        await follow(proxied, { ...common(entry.id), stage: 'streamEnd', ...end });
    },
  };
}
