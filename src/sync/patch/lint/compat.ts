// What a list of patches does otherwise here than in vCluster's own patch engine, entry by entry, for those who come from
// there. Facts as of vCluster 0.37; nothing here changes what is done. Pure.

import { keptKinds } from '../../../config/settings/patch-rules.ts';
import type { CompiledExpression } from '../../../expression/language/compile.ts';
import type { Placement } from '../../plan/placement.ts';
import { copyPlaceOf, type Naming } from '../../references/names.ts';
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

/** Without a context, as where the configuration has faults, nothing is said of names. */
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
      'does not run where the key is missing; onMissing: create asks for it',
      'runs with null there since 0.30, and creates the key',
    );
  if (text.includes("'")) note('single-quotes', 'takes single quotes as quotes', 'takes them as part of the key');
  if (/\.\*$/.test(text) && path.segments.length > 1)
    note('dot-star', 'takes .* at the end for every element of maps too', 'looks for a key "*" in a map');
  if (/\P{ASCII}/u.test(text))
    note('unicode-key', 'matches keys of any letters', 'cuts letters beyond ASCII, so that the key never matches');
  if (path.segments.length < 3)
    note(
      'whole-value',
      'shows the expression the whole value each time',
      'shows it the whole on create and only what has changed on update',
    );
  return notes;
}

/** The entry that has the other direction of the same place. */
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
        hostward: 'takes the two directions of a place from two entries',
        vcluster: isSameText ? 'refuses a path that stands there twice' : 'drops the field in both directions',
      },
    ];
  }
  if (entry.expression !== undefined && entry.reverseExpression === undefined)
    return [
      {
        field: 'expression',
        rule: 'forward-only',
        hostward: 'reverts a host edit of the field',
        vcluster: 'drops the field from what goes back, and leaves the host edit until the tenant changes it',
      },
    ];
  if (entry.expression === undefined && entry.reverseExpression !== undefined)
    return [
      {
        field: 'reverseExpression',
        rule: 'back-only',
        hostward: "gives the host the tenant's value while it has none, then follows the host",
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
      vcluster: 'gives the path of what holds the key',
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
      vcluster: 'syncs what is referenced by the rules of its kind, and imports any host object of the name',
    });
  if (entry.labels !== undefined)
    notes.push({
      field: 'labels',
      rule: 'labels',
      hostward: 'rewrites the keys of label maps and selectors anywhere',
      vcluster: 'does so for custom resources only',
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

/** An object that no tenant has, in a namespace that each may have. */
const example = { namespace: 'default', name: 'my-name' };

/** Which name a reference becomes, and what decides so. */
function nameNotes({ reference }: CompiledPatch, { placement, naming }: NameContext): Note[] {
  if (reference === undefined) return [];
  const { kind } = reference.reference;
  const own = namingOf(reference, kind);
  const used = own ?? naming;
  const nameBy = (one: Naming) => copyPlaceOf({ kind, ...example }, { placement, naming: one })?.name;
  const [written, theirs] = [nameBy(used), nameBy('vcluster')];
  // A namespace without a place on the host has no names there.
  if (written === undefined || theirs === undefined) return [];
  const setting = own === undefined ? 'hostward.references.naming' : 'reference.naming of the entry';
  const isKept = placement.mode === 'mapped' && written === example.name;
  const why = isKept ? 'its namespace has one of its own on the host' : `${setting} is ${used}`;
  const behind =
    written === theirs ? '' : keptKinds.includes(kind) ? ', the name of its copy' : ', behind which nothing stands';
  return [
    {
      field: 'reference',
      rule: 'reference-name',
      hostward: `writes "${written}" for the ${kind} ${example.namespace}/${example.name}${behind}, because ${why}`,
      vcluster: `writes "${theirs}"`,
    },
  ];
}
