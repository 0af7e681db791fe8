// Writes the audit of a direct endpoint as lines of its log, without headers, bodies and secrets. In: the audit entries of the
// proxied paths.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type AuditEntry, intentEntry, outcomeEntry } from '../audit/entries.ts';
import type { ProxyAudit, ProxyAuditEntry } from '../proxy/proxied-paths.ts';

export interface AuditLinesParts {
  clock: Clock;
  log: Log;
  /** Kind and name of the owner, and the name of the key behind the token. */
  subjectOf(user: ProxyAuditEntry['user']): {
    kind: 'user' | 'team' | 'subject' | 'unknown';
    name: string;
    key: string;
  };
}

const reads: ReadonlySet<string> = new Set(['get', 'head', 'options', 'list', 'watch']);

/** Reads are not written down, unless they are refused. */
export function auditLines({ clock, log, subjectOf }: AuditLinesParts): ProxyAudit {
  const begun = new WeakSet<ProxyAuditEntry>();
  const common = (id: string) => ({ time: clock.wallTime().toISOString(), id });
  const write = (entry: AuditEntry) => log.info({ component: 'audit', ...entry }, entry.stage);
  const intent = ({ id, user, source, request, url }: ProxyAuditEntry) =>
    write(intentEntry(common(id), { subject: subjectOf(user), source, request, url }));
  return {
    async begins(entry) {
      if (reads.has(entry.request.verb)) return;
      begun.add(entry);
      intent(entry);
    },
    async ends(entry, code) {
      const hasBegun = begun.has(entry);
      if (!hasBegun && code !== 401 && code !== 403) return;
      if (!hasBegun) intent(entry);
      write(outcomeEntry(common(entry.id), code));
    },
    async streamStarts(entry) {
      if (begun.has(entry)) write({ ...common(entry.id), stage: 'streamStart' });
    },
    async streamEnds(entry, end) {
      if (begun.has(entry)) write({ ...common(entry.id), stage: 'streamEnd', ...end });
    },
  };
}
