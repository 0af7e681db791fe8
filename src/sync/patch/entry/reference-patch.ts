// Reference patches: the value at the path names another object, and is written as that object is called on the other side.
// Names and namespaces only; the content is decided about in kinds/content/. It touches nothing but the view.

import { keptKinds, referenceKinds } from '../../../config/settings/table/patch-rules.ts';
import type { CompiledPath, JsonMap, Matches } from '../../../expression/path/path.ts';
import { inQuotes } from '../../../object/text/in-quotes.ts';
import { isRecord, shapeOf } from '../../../object/text/json.ts';
import { shownKey } from '../../plan/excerpt.ts';
import { importableLabel } from '../../plan/keys/reserved-keys.ts';
import type { Renamed } from '../../plan/kind.ts';
import type { HostPlace, Placement } from '../../plan/placement.ts';
import {
  type Naming,
  type Reference,
  type ReferenceResolver,
  type ReferenceStanding,
  referenceApiVersion,
} from '../../references/reference-names.ts';
import type { CompiledReference } from '../set/patch-set.ts';

/** A reference that a pass found; loop/content/ keeps the content behind its name. */
export interface FoundReference extends Reference {
  standing: ReferenceStanding;
}

export interface Wrong {
  kind: 'wrong';
  /** Index of the match. */
  at: number;
  message: string;
}

/** One place that holds a text and can be overwritten. */
export interface Cell {
  parent: JsonMap | unknown[];
  key: string | number;
  text: string;
}

/** A reference as an object holds it: one match of the path may hold several names. */
export interface Spelled {
  names: Cell[];
  namespace: Cell | undefined;
  kind: string;
}

export type ReadReference = { kind: 'ok'; spelled: Spelled } | { kind: 'none' } | { kind: 'wrong'; message: string };

/** Reads the reference at one match; `none` for an empty or missing name, which stays as it is. */
export function readReference(compiled: CompiledReference, matches: Matches, at: number): ReadReference {
  const value = matches.values[at];
  const { reference, namePath, namespacePath, kindPath, apiVersionPath } = compiled;
  if (value === null || value === undefined || value === '') return { kind: 'none' };
  if (namePath === undefined) {
    if (typeof value !== 'string')
      return { kind: 'wrong', message: `wanted a name at the path, or namePath beside it, found ${shapeOf(value)}` };
    const cell = { parent: matches.parents[at] as JsonMap, key: matches.keys[at] as string, text: value };
    return checked({ names: [cell], namespace: undefined, kind: reference.kind }, reference.apiVersion);
  }
  if (typeof value !== 'object') return { kind: 'none' };
  const root = value as JsonMap;
  const names = cellsAt(namePath, root);
  if (names.kind === 'wrong') return names;
  if (names.cells.length === 0) return { kind: 'none' };
  const namespace = namespacePath && cellsAt(namespacePath, root);
  if (namespace?.kind === 'wrong') return namespace;
  return checked(
    { names: names.cells, namespace: namespace?.cells[0], kind: textAt(kindPath, root) ?? reference.kind },
    textAt(apiVersionPath, root) ?? reference.apiVersion,
  );
}

function checked(spelled: Spelled, apiVersion: string): ReadReference {
  if (!referenceKinds.includes(spelled.kind))
    return {
      kind: 'wrong',
      message: `wanted a reference to one of ${referenceKinds.join(', ')}, found kind "${shownKey(spelled.kind)}"`,
    };
  if (apiVersion !== referenceApiVersion)
    return { kind: 'wrong', message: `wanted apiVersion v1 for kind ${spelled.kind}, found "${shownKey(apiVersion)}"` };
  return { kind: 'ok', spelled };
}

function cellsAt(
  path: CompiledPath,
  root: JsonMap,
): { kind: 'ok'; cells: Cell[] } | { kind: 'wrong'; message: string } {
  const matches = path.match(root);
  const cells: Cell[] = [];
  for (const [at, text] of matches.values.entries()) {
    if (text === null || text === undefined || text === '') continue;
    if (typeof text !== 'string')
      return {
        kind: 'wrong',
        message: `wanted a text at ${inQuotes(path.text)} below the path, found ${shapeOf(text)}`,
      };
    cells.push({ parent: matches.parents[at] as JsonMap, key: matches.keys[at] as string, text });
  }
  return { kind: 'ok', cells };
}

function textAt(path: CompiledPath | undefined, root: JsonMap): string | undefined {
  const text = path?.match(root).values[0];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

export interface ForwardReferences {
  namespace: string;
  placement: Placement;
  resolver: ReferenceResolver;
  /** Names that were translated before any patch ran: translated a second time they would name no object. */
  renamed?: Iterable<Renamed>;
}

/** Writes host names over virtual ones. Nothing is written when one of the references is wrong. */
export function referencesForward(
  compiled: CompiledReference,
  matches: Matches,
  { namespace, placement, resolver, renamed = [] }: ForwardReferences,
): { kind: 'ok'; changes: number; found: FoundReference[] } | Wrong {
  const writes: { cell: Cell; text: string }[] = [];
  const found: FoundReference[] = [];
  const tenants = tenantNames(renamed);
  for (let at = 0; at < matches.values.length; at++) {
    const read = readReference(compiled, matches, at);
    if (read.kind === 'wrong') return { ...read, at };
    if (read.kind === 'none') continue;
    const { spelled } = read;
    for (const cell of spelled.names) {
      const written = { namespace: spelled.namespace?.text, name: cell.text };
      const named = tenants.get(idOf(spelled.kind, written)) ?? written;
      const reference = { kind: spelled.kind, namespace: named.namespace || namespace, name: named.name };
      const resolution = resolver.toHost(reference, placement, namingOf(compiled, spelled.kind));
      // Left as it is, the name of a tenant's namespace would mean one of the host's.
      if (resolution === undefined)
        return { kind: 'wrong', at, message: `namespace "${shownKey(reference.namespace)}" is not synced to the host` };
      found.push({ ...reference, standing: resolution.standing });
      writes.push({ cell, text: resolution.place.name });
      if (spelled.namespace !== undefined) writes.push({ cell: spelled.namespace, text: resolution.place.namespace });
    }
  }
  return { kind: 'ok', changes: write(writes), found };
}

/** The naming that the entry itself chooses. Kinds with copied content ignore it, because each copy has only one name. */
export function namingOf({ reference }: CompiledReference, kind: string): Naming | undefined {
  return keptKinds.includes(kind) ? undefined : reference.naming;
}

/** The tenant's name by the host's, with and without its namespace. */
function tenantNames(renamed: Iterable<Renamed>): Map<string, HostPlace> {
  const names = new Map<string, HostPlace>();
  for (const { kind, host, virtual } of renamed) {
    names.set(idOf(kind, host), virtual);
    names.set(idOf(kind, { name: host.name }), virtual);
  }
  return names;
}

function idOf(kind: string, { namespace = '', name }: { namespace?: string | undefined; name: string }): string {
  return `${kind} ${namespace}/${name}`;
}

function write(writes: readonly { cell: Cell; text: string }[]): number {
  let changes = 0;
  for (const { cell, text } of writes) {
    if ((cell.parent as JsonMap)[cell.key] !== text) changes++;
    (cell.parent as JsonMap)[cell.key] = text;
  }
  return changes;
}

export interface BackReferences {
  /** The object that holds the reference, on both sides. */
  virtual: HostPlace;
  host: HostPlace;
  placement: Placement;
  resolver: ReferenceResolver;
  /** The host's text at a cell of the candidate, and whether the host changed it; undefined where nothing flows back. */
  hostText: (cell: Cell) => { text: string; isChanged: boolean } | undefined;
}

/** Cells, or a whole match, whose host names have no meaning in the virtual cluster; they must not be written. */
export interface Lost extends Wrong {
  /** Undefined when the match cannot be read. */
  cells: readonly Cell[] | undefined;
  /** The objects that the name can belong to are not all known yet. */
  isEarly?: boolean;
}

/** Writes virtual names over host ones, in cells that the host has changed. */
export function referencesBack(
  compiled: CompiledReference,
  matches: Matches,
  options: BackReferences,
): { changes: number; lost: readonly Lost[] } {
  const writes: { cell: Cell; text: string }[] = [];
  const lost: Lost[] = [];
  for (let at = 0; at < matches.values.length; at++) {
    const read = readReference(compiled, matches, at);
    if (read.kind === 'wrong') lost.push({ ...read, at, cells: undefined });
    if (read.kind !== 'ok') continue;
    const naming = namingOf(compiled, read.spelled.kind);
    const names = read.spelled.names.map((cell) => nameBack(cell, read.spelled, { ...options, naming }));
    const failed = names.filter((one) => one.kind === 'lost').map((one) => ({ ...one, kind: 'wrong' as const, at }));
    lost.push(...failed);
    // A namespace goes back with all the names that it belongs to, or with none.
    const isWhole = failed.length > 0 && read.spelled.namespace !== undefined;
    if (!isWhole) for (const one of names) if (one.kind === 'ok') writes.push(...one.writes);
  }
  return { changes: write(writes), lost };
}

type NameBack =
  | { kind: 'ok'; writes: { cell: Cell; text: string }[] }
  | { kind: 'lost'; cells: readonly Cell[]; message: string; isEarly?: boolean };

function nameBack(cell: Cell, spelled: Spelled, options: BackReferences & { naming: Naming | undefined }): NameBack {
  const { virtual, host, resolver, placement, naming } = options;
  const { kind, namespace: beside } = spelled;
  const name = options.hostText(cell);
  const space = beside && options.hostText(beside);
  const isSpaceChanged = space?.isChanged === true;
  if (name === undefined || !(name.isChanged || isSpaceChanged)) return { kind: 'ok', writes: [] };
  const place = { namespace: space?.text ?? host.namespace, name: name.text };
  const namespace = isSpaceChanged ? virtual.namespace : (beside?.text ?? virtual.namespace);
  const about = { kind, host: place, namespace, mayBeElsewhere: isSpaceChanged };
  const turned = resolver.toVirtual(about, placement, naming);
  const cells = beside === undefined ? [cell] : [cell, beside];
  if (turned.kind === 'lost') {
    const where = isSpaceChanged ? '' : ` in namespace "${shownKey(namespace)}"`;
    const wayOut = keptKinds.includes(kind) ? `; a ${kind} of the host needs the label ${importableLabel}: "true"` : '';
    const message = `wanted the host name of a ${kind}${where}, found a name that belongs to no ${kind} known there${wayOut}`;
    return { kind: 'lost', cells, message, isEarly: turned.isEarly };
  }
  const writes: { cell: Cell; text: string }[] = [];
  if (isSpaceChanged) writes.push({ cell: beside as Cell, text: turned.place.namespace });
  if (name.isChanged) writes.push({ cell, text: turned.place.name });
  return { kind: 'ok', writes };
}

/** The map of metadata that holds a cell; nothing else flows back. */
export function mapOfCell(cell: Cell, metadata: unknown): 'labels' | 'annotations' | undefined {
  if (!isRecord(metadata)) return undefined;
  if (cell.parent === metadata['labels']) return 'labels';
  return cell.parent === metadata['annotations'] ? 'annotations' : undefined;
}
