// Decides whether an object that carries marks of ours was brought by a reference patch that is gone. In: what a search has found. Out: whether it
// goes. In doubt it stays.
import type { Writer } from '../../../cluster/write/writer.ts';
import type { ContentKind, HostContent, VirtualContent } from '../../kinds/content/content-kind.ts';
import { holdOf, isOwnCopy } from '../../kinds/content/own-copy.ts';
import type { Placement } from '../../plan/placement.ts';
import { sameNamePlaceOf } from '../../references/reference-names.ts';

/** A delete does not need the content. */
export type FoundCopy = Omit<HostContent, 'content'>;

export type FoundImport = Pick<
  VirtualContent,
  'namespace' | 'name' | 'uid' | 'resourceVersion' | 'isDeleting' | 'importedFrom'
>;

export type LeftObject = Omit<FoundImport, 'importedFrom'>;

export function isLeftCopy(copy: FoundCopy, kind: ContentKind, placement: Placement): boolean {
  return isOwnCopy(copy, kind, placement) && holdOf(copy) === undefined;
}

/** The mark of an import counts only while the host object with that uid exists: otherwise the object is the tenant's, and stays. */
export async function importVerdict(
  { namespace, name, importedFrom }: FoundImport,
  { kind, resource }: ContentKind,
  { placement, hostWriter }: { placement: Placement; hostWriter: Pick<Writer, 'get'> },
): Promise<'goes' | 'stays' | 'unknown'> {
  const place = sameNamePlaceOf({ kind, namespace, name }, placement);
  if (importedFrom === undefined || place === undefined) return 'stays';
  const answer = await hostWriter.get(resource, place);
  if (answer.kind === 'notFound') return 'stays';
  if (answer.kind !== 'ok') return 'unknown';
  return answer.object.metadata.uid === importedFrom ? 'goes' : 'stays';
}
