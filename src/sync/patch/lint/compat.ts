// Lists, entry by entry, where patches behave differently from vCluster's own patch engine, for users who come from it. The
// facts are those of vCluster 0.37. Pure.

import { keptKinds } from '../../../config/settings/table/patch-rules.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import type { Placement } from '../../plan/placement.ts';
import { copyPlaceOf, type Naming } from '../../references/reference-names.ts';
import { namingOf } from '../entry/reference-patch.ts';
import type { CompiledPatch } from '../set/patch-set.ts';

export interface CompatNote {
  index: number;
  field: 'path' | 'expression' | 'reverseExpression' | 'reference' | 'labels' | 'onMissing' | 'onError';
  rule: string;
  hostward: string;
  vcluster: string;
}

type Note = Omit<CompatNote, 'index'>;

export interface NameContext {
  placement: Placement;
  naming: Naming;
}

/** Without a context, as when the configuration has faults, there are no notes about names. */
export function compatNotes(patches: readonly CompiledPatch[], names?: NameContext): CompatNote[] {
  return patches.flatMap((patch) =>
    [
      ...pathNotes(patch),
      ...directionNotes(patch, otherHalf(patch, patches)),
      ...expressionNotes(patch),
      ...modeNotes(patch),
      ...(names === undefined ? [] : nameNotes(patch, names)),
    ].map((note) => ({ index: patch.index, ...note })),
  );
}

function pathNotes({ path, entry }: CompiledPatch): Note[] {
  const { text } = path;
  const notes: Note[] = [];
  const note = (rule: string, hostward: string, vcluster: string) =>
    notes.push({ field: 'path', rule, hostward, vcluster });
  const last = path.segments.at(-1);
  const endsInBracketKey = text.endsWith(']') && last?.kind === 'key';
  if (endsInBracketKey && entry.onMissing === 'skip' && entry.expression !== undefined)
    note(
      'missing-key',
      'does not run when the key is missing, unless onMissing is create',
      'runs with null since 0.30, and creates the key',
    );
  if (text.includes("'")) note('single-quotes', 'takes single quotes as quotes', 'takes them as part of the key');
  if (/\.\*$/.test(text) && path.segments.length > 1)
    note('dot-star', 'takes .* at the end for every element of maps too', 'looks for a key "*" in a map');
  if (/\P{ASCII}/u.test(text))
    note('unicode-key', 'matches keys of any letters', 'cuts letters beyond ASCII off, so that the key never matches');
  if (path.segments.length < 3)
    note(
      'whole-value',
      'always gives the expression the whole value',
      'gives it the whole value on create and only the changed part on update',
    );
  return notes;
}

/** The entry for the other direction of the same path. */
function otherHalf(patch: CompiledPatch, patches: readonly CompiledPatch[]): CompiledPatch | undefined {
  const lacks = patch.forward === undefined ? 'forward' : 'back';
  return patches.find((one) => one.path.canonical === patch.path.canonical && one[lacks] !== undefined);
}

function directionNotes({ index, path, entry }: CompiledPatch, half: CompiledPatch | undefined): Note[] {
  const isPayload = path.segments[0]?.kind === 'key' && path.segments[0].key !== 'metadata';
  if (isPayload) return [];
  const isOneWay = (entry.expression === undefined) !== (entry.reverseExpression === undefined);
  if (isOneWay && half !== undefined) {
    if (half.index > index) return [];
    const isSameText = half.entry.path === entry.path;
    return [
      {
        field: 'path',
        rule: 'two-halves',
        hostward: 'takes the two directions of a path from two entries',
        vcluster: isSameText ? 'refuses the same path twice' : 'drops the field in both directions',
      },
    ];
  }
  if (entry.expression !== undefined && entry.reverseExpression === undefined)
    return [
      {
        field: 'expression',
        rule: 'forward-only',
        hostward: 'reverts a host edit of the field',
        vcluster: 'never copies the field back, and leaves the host edit until the tenant changes the field',
      },
    ];
  if (entry.expression === undefined && entry.reverseExpression !== undefined)
    return [
      {
        field: 'reverseExpression',
        rule: 'back-only',
        hostward: "copies the tenant's value to a host that has no value, then follows the host",
        vcluster: 'never writes the field to the host',
      },
    ];
  return [];
}

function expressionNotes(patch: CompiledPatch): Note[] {
  return [...textNotes(patch, patch.forward, 'expression'), ...textNotes(patch, patch.back, 'reverseExpression')];
}

function textNotes(
  { path }: CompiledPatch,
  expression: CompiledExpression | undefined,
  field: 'expression' | 'reverseExpression',
): Note[] {
  if (expression === undefined) return [];
  const notes: Note[] = [];
  const last = path.segments.at(-1);
  if (expression.usesPath && path.text.endsWith(']') && last?.kind === 'key')
    notes.push({
      field,
      rule: 'context-path',
      hostward: 'gives context.path with the key',
      vcluster: 'gives the path of the map that has the key',
    });
  if (/\b(null|undefined)\b/.test(expression.source) && last !== undefined) {
    const isDotted = last.kind === 'key' && last.key.includes('.') && path.text.endsWith(']');
    const isElement = last.kind === 'every' || /^\d+$/.test(last.key);
    const isInMap =
      path.segments.length === 3 && path.segments[0]?.kind === 'key' && path.segments[0].key === 'metadata';
    if (isDotted)
      notes.push({
        field,
        rule: 'delete-dotted',
        hostward: 'deletes the key for null and undefined',
        vcluster: 'keeps the old value of a key with dots',
      });
    else if (isInMap && (last.kind === 'every' || !path.text.endsWith(']')))
      notes.push({
        field,
        rule: 'delete-value',
        hostward: 'deletes the key for null and undefined',
        vcluster: 'deletes it on update, and writes an empty text on create',
      });
    else if (isElement && !isInMap)
      notes.push({
        field,
        rule: 'delete-element',
        hostward: 'takes an element out of its list for null and undefined',
        vcluster: 'leaves null in its place',
      });
  }
  return notes;
}

function modeNotes({ entry }: CompiledPatch): Note[] {
  const notes: Note[] = [];
  if (entry.reference !== undefined)
    notes.push({
      field: 'reference',
      rule: 'reference',
      hostward:
        'exports the content of Secrets and ConfigMaps only, and imports host objects labelled hostward.dev/importable',
      vcluster: 'syncs referenced objects by the rules of their kind, and imports any host object of that name',
    });
  if (entry.labels !== undefined)
    notes.push({
      field: 'labels',
      rule: 'labels',
      hostward: 'rewrites the keys of label maps and selectors anywhere',
      vcluster: 'rewrites keys in custom resources only',
    });
  if (entry.onMissing !== 'skip')
    notes.push({ field: 'onMissing', rule: 'own-key', hostward: 'knows onMissing', vcluster: 'refuses the key' });
  if (entry.onError !== 'fail')
    notes.push({
      field: 'onError',
      rule: 'own-key',
      hostward: 'knows onError',
      vcluster: 'refuses the key, and always fails the object',
    });
  return notes;
}

/** An invented object, to show the name that it would get. */
const example = { namespace: 'default', name: 'my-name' };

/** The host name that a reference gets, and the setting that decides it. */
function nameNotes({ reference }: CompiledPatch, { placement, naming }: NameContext): Note[] {
  if (reference === undefined) return [];
  const { kind } = reference.reference;
  const own = namingOf(reference, kind);
  const used = own ?? naming;
  const nameBy = (one: Naming) => copyPlaceOf({ kind, ...example }, { placement, naming: one })?.name;
  const [written, theirs] = [nameBy(used), nameBy('vcluster')];
  // A namespace that is not mapped has no names on the host.
  if (written === undefined || theirs === undefined) return [];
  const setting = own === undefined ? 'hostward.references.naming' : 'reference.naming of the entry';
  const isKept = placement.mode === 'mapped' && written === example.name;
  const why = isKept ? 'its namespace is mapped to a host namespace of its own' : `${setting} is ${used}`;
  const behind =
    written === theirs ? '' : keptKinds.includes(kind) ? ', the name of its copy' : ', a name that no host object has';
  return [
    {
      field: 'reference',
      rule: 'reference-name',
      hostward: `writes "${written}" for the ${kind} ${example.namespace}/${example.name}${behind}, because ${why}`,
      vcluster: `writes "${theirs}"`,
    },
  ];
}
