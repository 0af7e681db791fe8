// Requests of Hostward that arrived at a real kube-apiserver, from its own audit log.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { proxyUser } from '../proxy/proxied.ts';

/** kube-apiserver writes a line for each request of Hostward, before it does anything else with it. */
export function auditFlags(folder: string): string[] {
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['ResponseStarted', 'ResponseComplete', 'Panic'],
    rules: [{ level: 'Metadata', users: [proxyUser] }],
  };
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
  return [
    `--audit-policy-file=${join(folder, 'policy.json')}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
    '--audit-log-mode=blocking-strict',
  ];
}

/** Their paths, in the order of arrival, without the questions of Hostward for its own rights. */
export function arrived(folder: string): string[] {
  const lines = readFileSync(join(folder, 'audit.log'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines
    .map((line) => String((JSON.parse(line) as { requestURI?: string }).requestURI))
    .filter((url) => !url.endsWith('/selfsubjectaccessreviews'));
}
