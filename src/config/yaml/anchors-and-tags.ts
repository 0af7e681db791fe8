// What stands in front of a value in YAML, or in its place: tags, anchors and aliases. Finds tags that nobody resolves, because
// the value behind such a tag would pass for a text, and says how to write what was probably meant.
import type { Document, YAMLError } from 'yaml';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { type Fault, fault, quoted } from '../fault.ts';
import type { SourceText } from './source-text.ts';
import type { TreeNode } from './tree.ts';

const tagCode = 'CONFIG_TAG';
const ofYaml = 'tag:yaml.org,2002:';
export const textTag = `${ofYaml}str`;

interface Tag {
  wanted: string;
  fits(node: TreeNode): boolean;
}

function scalarTag(wanted: string, fits: (value: unknown) => boolean): Tag {
  return { wanted, fits: (node) => node.kind === 'scalar' && fits(node.value) };
}

/** The tags of YAML itself that have one meaning in every program. */
const known: ReadonlyMap<string, Tag> = new Map([
  [textTag, scalarTag('a text', () => true)],
  [`${ofYaml}int`, scalarTag('a whole number', Number.isInteger)],
  [`${ofYaml}float`, scalarTag('a number', (value) => typeof value === 'number')],
  [`${ofYaml}bool`, scalarTag('true or false', (value) => typeof value === 'boolean')],
  [`${ofYaml}null`, scalarTag('nothing', (value) => value === null)],
  [`${ofYaml}map`, { wanted: 'a map', fits: ({ kind }) => kind === 'map' }],
  [`${ofYaml}seq`, { wanted: 'a list', fits: ({ kind }) => kind === 'list' }],
]);

/** A tag or the name of an anchor can be as long as the file. */
const shownLength = 60;

function shown(name: string): string {
  return name.length > shownLength ? `${name.slice(0, shownLength)}…` : name;
}

/** Whether the parser says it of a tag. */
export function isOfTag({ code }: Pick<YAMLError, 'code'>): boolean {
  return code === 'TAG_RESOLVE_FAILED';
}

/** A fault for each tag that nobody resolves, all of them at once. */
export function unresolvedTags(source: SourceText, document: Pick<Document, 'errors' | 'warnings'>): Fault[] {
  return [...document.errors, ...document.warnings].filter(isOfTag).flatMap(({ pos: [start, end], message }) => {
    // The parser knows fewer tags than this file. What they say of a value is judged with the value, by misfit().
    const [, name = ''] = /^Unresolved tag: (\S+)/.exec(message) ?? [];
    if (known.has(name)) return [];
    const sentence = `wanted a value, found the tag ${shown(source.text.slice(start, end))}, which Hostward does not resolve`;
    const fix = 'write the value itself, or put it in quotes if the "!" belongs to it';
    return [fault({ code: tagCode, at: source.positionAt(start), sentence, fix })];
  });
}

/** Whether nobody knows the value behind the tag; `!` alone says nothing. */
export function isUnresolved(tag: string | undefined): boolean {
  return tag !== undefined && tag !== '!' && !known.has(tag);
}

/** Whether the tag turns a text, also a quoted one, into a value. */
export function isOfScalar(tag: string | undefined): boolean {
  return tag !== undefined && tag !== textTag && known.has(tag);
}

/** The fault of a value that is not what its tag says. */
export function misfit(tag: string | undefined, node: TreeNode): Fault | undefined {
  const of = known.get(tag ?? '');
  if (tag === undefined || of === undefined || of.fits(node)) return undefined;
  const found = node.kind === 'scalar' ? quoted(node.text) : `a ${node.kind}`;
  const sentence = `the tag ${tag.replace(ofYaml, '!!')} wants ${of.wanted}, found ${found}`;
  const at = node.span.source.positionAt(node.span.start);
  return fault({ code: tagCode, at, sentence, fix: 'remove the tag, or correct the value' });
}

/** The words for an alias whose anchor is not before it. */
export function unknownAlias(name: string, before: Iterable<string>, text: string): { sentence: string; fix: string } {
  const sentence = `there is no anchor &${shown(name)} before the alias`;
  if (text.includes(`&${name}`)) return { sentence, fix: `move the value with &${shown(name)} above this line` };
  const near = nearestKey(name, before);
  const itself = 'write the value itself, or put it in quotes if the "*" belongs to it';
  return { sentence, fix: near === undefined ? itself : `did you mean *${shown(near)}?` };
}

export function innerAlias(name: string): { sentence: string; fix: string } {
  return { sentence: `the alias *${shown(name)} is inside its own value`, fix: 'write the value itself' };
}
