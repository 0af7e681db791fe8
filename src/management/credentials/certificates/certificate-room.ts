// How many client certificates may count at a time. Each is a record here, which is looked at several times a second, and in most
// virtual clusters a binding. Pure.
import type { IssueRecord } from './issue-record.ts';

export const certificateLimits = {
  /** A person needs one, and a pipeline one for each run within the life of a certificate. */
  ofOneKey: 100,
  /** Of an instance: the room of the instance is for all its owners. */
  ofOneOwner: 500,
  /** An API server reads all its bindings for each decision. */
  ofOneInstance: 1_000,
};

/** Why there is no room for one more, and the way out. */
export function noRoom(
  records: readonly IssueRecord[],
  asked: Pick<IssueRecord, 'key' | 'subject' | 'instance'>,
  perOwner: number,
): string | undefined {
  const { key, subject, instance } = asked;
  const count = (counts: (record: IssueRecord) => boolean) => records.filter(counts).length;
  const ofKey = count((record) => record.key.uid === key.uid);
  if (ofKey >= certificateLimits.ofOneKey)
    return `the access key ${key.name} has ${ofKey} client certificates, the most that one key may have; use a kubeconfig until it ends (hostward kubeconfig --exec does), or ask for a shorter certificateTTL`;
  const isOwners = (record: IssueRecord) =>
    record.subject.kind === subject.kind && record.subject.name === subject.name;
  const ofOwner = count(isOwners);
  if (ofOwner >= perOwner)
    return `the owner of the key has ${ofOwner} client certificates, and may have ${perOwner}; delete keys that are not used`;
  const ofOwnerHere = count((record) => record.instance === instance && isOwners(record));
  if (ofOwnerHere >= certificateLimits.ofOneOwner)
    return `the owner of the key has ${ofOwnerHere} client certificates of this virtual cluster, the most that one owner may have; delete keys that are not used`;
  const ofInstance = count((record) => record.instance === instance);
  if (ofInstance >= certificateLimits.ofOneInstance)
    return `the virtual cluster has ${ofInstance} client certificates, the most that one may have; wait until some end, or have keys deleted that are not used`;
  return undefined;
}
