// What is kept of every client certificate that was issued: whose it is, through which key, and what must be undone when it ends.
// Nothing of it is secret. Pure.
import { type Authenticated, credentialOf, type KeyWorld } from '../keys/life/credential.ts';
import { allows } from '../scope/allows.ts';
import type { SubjectName } from '../scope/directory.ts';
import { type AccessRequest, instanceResource, managementGroup, namespaceOfProject } from '../scope/request.ts';

export interface IssueRecord {
  /** Stands in the group of the certificate and in the names of the objects that we make for it. */
  id: string;
  /** `beginning`: not in anybody's hands yet. `ending`: the rights are still to be taken away. */
  state: 'beginning' | 'live' | 'ending';
  /** `binding`: rights come from a ClusterRoleBinding in the virtual cluster. `listener`: each request is checked by us. */
  by: 'binding' | 'listener';
  project: string;
  virtualCluster: string;
  /** uid of the instance. */
  instance: string;
  /** The file that led to the virtual cluster then: what must be undone there outlives its place in the configuration. */
  kubeconfig: string;
  key: { name: string; uid: string; generation: number };
  subject: SubjectName;
  /** Hexadecimal; empty while there is no certificate. */
  serial: string;
  createdMs: number;
  /** Undefined while there is no certificate. */
  notAfterMs: number | undefined;
}

/** Why a certificate counts no more; undefined = it does. */
export function endOf(record: IssueRecord, world: KeyWorld, nowMs: number): string | undefined {
  if (record.notAfterMs !== undefined && nowMs >= record.notAfterMs) return 'it has expired';
  if (world.instanceUid(record.project, record.virtualCluster) !== record.instance)
    return 'its virtual cluster is not in the configuration';
  const found = holderOf(record, world, nowMs);
  if (found === undefined) return 'the access key that asked for it is gone';
  if (found.kind === 'dead') return `the access key that asked for it does not count: ${found.because}`;
  if (found.facts.record.tokenGeneration !== record.key.generation)
    return 'the access key that asked for it was changed since';
  const decision = allows(world.directory, found.credential, certificateRequest(record));
  return decision.allowed ? undefined : 'the access key that asked for it may not have one any more';
}

/** The key as it is now. From where it is used is not asked: the certificate is used elsewhere. */
export function holderOf({ key }: IssueRecord, world: KeyWorld, nowMs: number): Authenticated | undefined {
  const facts = world.key(key.name);
  if (facts === undefined || facts.record.uid !== key.uid) return undefined;
  return credentialOf({ ...facts, networks: undefined }, world, { nowMs, address: undefined });
}

export function certificateRequest({
  project,
  virtualCluster,
}: Pick<IssueRecord, 'project' | 'virtualCluster'>): AccessRequest {
  const place = { namespace: namespaceOfProject(project), name: virtualCluster };
  const about = { group: managementGroup, resource: instanceResource, subresource: 'kubeconfig', ...place };
  return { isResource: true, target: { kind: 'Management' }, verb: 'create', ...about, clientCert: true };
}
