// Labels and annotations that begin with hostward.dev/ are the server's alone, apart from the annotation with the networks that
// a key may be used from. A client may send them back unchanged.
import { type FieldError, forbiddenField } from '../../../object/meta/field-error.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import type { SubjectName } from '../../scope/directory.ts';
import { cidrsAnnotation } from '../../scope/patterns/source-networks.ts';
import { keySpec } from './key-spec.ts';

const reserved = 'hostward.dev/';

/** The user who disabled the key. With `administrator:NAME`, only an administrator can enable the key. */
export const disabledByAnnotation = 'hostward.dev/disabled-by';
const byAdministrator = 'administrator:';

/** The key and the user that made the key, and those that rotated it last: `user:alice key:laptop`. */
export const createdByAnnotation = 'hostward.dev/created-by';
export const rotatedByAnnotation = 'hostward.dev/rotated-by';

/** Those that are on a key in addition to what clients write. */
export const serverAnnotations: ReadonlySet<string> = new Set([
  createdByAnnotation,
  rotatedByAnnotation,
  disabledByAnnotation,
]);

/** On the key of a kubeconfig: uid of the virtual cluster instance. */
export const instanceLabel = 'hostward.dev/instance';

export function serverMarkFaults(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  return (['labels', 'annotations'] as const).flatMap((where) => {
    const now = object.metadata[where] ?? {};
    const before = old?.metadata[where] ?? {};
    const keys = new Set([...Object.keys(now), ...Object.keys(before)]);
    return [...keys]
      .filter((key) => key.startsWith(reserved) && !(where === 'annotations' && key === cidrsAnnotation))
      .filter((key) => own(now, key) !== own(before, key))
      .map((key) => forbiddenField(`metadata.${where}[${key}]`, sentenceFor(where, key)));
  });
}

function sentenceFor(where: 'labels' | 'annotations', key: string): string {
  if (where === 'labels' && key === cidrsAnnotation) return 'a label limits nothing; write it as an annotation';
  return `${reserved}* is written by the server only`;
}

/** A client that writes a key again need not know who made it, nor who disabled it: enabling takes that mark away. */
export function keepMarks(object: KubeObject, old: KubeObject): void {
  const before = old.metadata.annotations ?? {};
  for (const mark of serverAnnotations) {
    const value = own(before, mark);
    if (value === undefined || own(object.metadata.annotations ?? {}, mark) !== undefined) continue;
    object.metadata.annotations = { ...object.metadata.annotations, [mark]: value };
  }
}

function own(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Sets the name of the user who disabled the key, or removes it when the key is enabled. Called after the change was judged. */
export function markDisabled(
  object: KubeObject,
  wasDisabled: boolean,
  by: SubjectName,
  isAdministrator: boolean,
): void {
  const isDisabled = keySpec(object).disabled;
  if (isDisabled === wasDisabled) return;
  const annotations = { ...object.metadata.annotations };
  // The kind comes first, so that no name of a user can look like an administrator's mark.
  if (isDisabled) annotations[disabledByAnnotation] = markOf(by, isAdministrator);
  else delete annotations[disabledByAnnotation];
  object.metadata.annotations = annotations;
}

function markOf({ kind, name }: SubjectName, isAdministrator: boolean): string {
  return `${isAdministrator ? byAdministrator : `${kind}:`}${name}`;
}

/** What an administrator disables stays so, also where its owner had disabled the key before. */
export function markAsAdministrators(object: KubeObject, by: SubjectName): void {
  object.metadata.annotations = { ...object.metadata.annotations, [disabledByAnnotation]: markOf(by, true) };
}

/** As a client sent it, before the server wrote its own mark. */
export function withoutNewMark(object: KubeObject, old: KubeObject): KubeObject {
  const { [disabledByAnnotation]: _, ...annotations } = object.metadata.annotations ?? {};
  const before = own(old.metadata.annotations ?? {}, disabledByAnnotation);
  const kept = before === undefined ? annotations : { ...annotations, [disabledByAnnotation]: before };
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

export function isDisabledByAdministrator(object: KubeObject): boolean {
  return object.metadata.annotations?.[disabledByAnnotation]?.startsWith(byAdministrator) === true;
}

/** An administrator who says so again takes the mark over. */
export function isDisabledByOthers(object: KubeObject): boolean {
  return keySpec(object).disabled && !isDisabledByAdministrator(object);
}
