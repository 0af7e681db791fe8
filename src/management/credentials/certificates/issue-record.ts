// The record of an issued client certificate: its owner, its access key, and the objects that must be removed when it ends. It
// holds no secret. Pure.
import { type Authenticated, credentialOf, type KeyWorld } from '../../keys/life/credential.ts';
import { allows } from '../../scope/allows.ts';
import type { SubjectName } from '../../scope/directory.ts';
import { type AccessRequest, instanceResource, managementGroup, namespaceOfProject } from '../../scope/request.ts';

export interface IssueRecord {
  /** Part of the group of the certificate and in the names of the objects that we make for it. */
  id: string;
  /** `beginning`: the client does not have the certificate yet. `ending`: its rights still have to be removed. */
  state: 'beginning' | 'live' | 'ending';
  /** `binding`: rights come from a ClusterRoleBinding in the virtual cluster. `listener`: each request is checked by us. */
  by: 'binding' | 'listener';
  project: string;
  virtualCluster: string;
  /** uid of the instance. */
  instance: string;
  /** Kubeconfig of the virtual cluster at the time of issue: its objects must be removed even if the configuration loses it. */
  kubeconfig: string;
  key: { name: string; uid: string; generation: number };
  subject: SubjectName;
  /** Hexadecimal; empty while there is no certificate. */
  serial: string;
  createdMs: number;
  /** Undefined while there is no certificate. */
  notAfterMs: number | undefined;
}

/** The reason why a certificate is no longer valid; undefined = it is valid. */
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

/** The present state of the key. Its networks are not checked, because the certificate is used from other places. */
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
