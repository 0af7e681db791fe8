// The series of a direct endpoint: what passes through it, how old its knowledge of revocations is, and how many requests came
// without a token that counts.
import { type Metrics, readSeries } from '../../../metrics.ts';

export interface DirectCounted {
  /** Requests, streams and sessions that pass through. */
  proxied(): number;
  /** Since the last sign of life of the platform. */
  feedAgeSeconds(): number;
  failedLogins(): number;
  auditLines(): { waiting: number; lost: number };
  connections(): { open: number; refused: number };
  isReady(): boolean;
}

export function declareDirectMetrics(metrics: Metrics, counted: DirectCounted): void {
  const series: [string, string, () => number][] = [
    ['hostward_proxied_requests', 'Requests, streams and sessions on their way to clusters', () => counted.proxied()],
    [
      'hostward_revocation_feed_age_seconds',
      'Seconds since the last sign of life of the platform that issues the tokens; since the start before the first one',
      () => counted.feedAgeSeconds(),
    ],
    [
      'hostward_failed_authentications_total',
      'Requests with credentials that are not good',
      () => counted.failedLogins(),
    ],
    [
      'hostward_direct_audit_waiting_lines',
      'Audit lines that wait for the platform',
      () => counted.auditLines().waiting,
    ],
    [
      'hostward_direct_audit_lost_lines_total',
      'Audit lines since the start that the platform has not taken and will not get; the files of the endpoint have them',
      () => counted.auditLines().lost,
    ],
    ['hostward_direct_connections', 'Open connections of holders of tokens', () => counted.connections().open],
    [
      'hostward_direct_refused_connections_total',
      'Answers of 429 because an access key, or all of them together, had too many connections',
      () => counted.connections().refused,
    ],
    ['hostward_direct_ready', 'Whether tokens are accepted: 1 or 0', () => (counted.isReady() ? 1 : 0)],
  ];
  for (const [name, help, read] of series)
    readSeries(metrics, { name, help, labels: {}, isCounter: name.endsWith('_total'), read });
}
