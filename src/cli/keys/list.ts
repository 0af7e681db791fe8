// `hostward keys list` and `hostward keys get`: a table of access keys as the server lays it out, or the objects in JSON or YAML.
import { isRecord, recordsIn } from '../../object/text/json.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { textTable } from '../line/text-table.ts';
import { toYaml } from '../offline/yaml-text.ts';
import { keysPath, type ManagementClient } from './client/management-client.ts';
import { keyName, textAt } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';
import { noKeysOf } from './client/unknown-maker.ts';

const pageSize = 500;
/** Ten million keys: a server that says after so many pages that there are more is not to be believed. */
const mostPages = 20_000;
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const few = ['Name', 'Owner', 'Status', 'Expires', 'Last used'];

export async function listKeys(context: Context, options: Options): Promise<ExitCode> {
  const form = options.choice('output');
  const maker = makerIn(options);
  const pages = await withServer(context, options, (client) => pagesOf(client, acceptOf(form)));
  if (isTable(form)) {
    const count = printTable(context, pages, { form, maker });
    if (count === 0) context.stderr.write(`${await nothingOf(context, options, maker)}\n`);
    return exitCodes.fine;
  }
  const items = itemsIn(pages, maker);
  if (items.length === 0 && maker !== undefined) context.stderr.write(`${await nothingOf(context, options, maker)}\n`);
  printObject(context, { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKeyList', items }, form);
  return exitCodes.fine;
}

function nothingOf(context: Context, options: Options, maker: string | undefined): Promise<string> | string {
  return maker === undefined ? 'there are no access keys' : noKeysOf(context, options, maker);
}

export async function getKey(context: Context, options: Options): Promise<ExitCode> {
  const form = options.choice('output');
  const path = `${keysPath}/${keyName(options)}`;
  const { body } = await withServer(context, options, (client) =>
    client.ask({ method: 'GET', path, accept: acceptOf(form) }),
  );
  if (isTable(form)) printTable(context, [body], { form, maker: undefined });
  else printObject(context, body, form);
  return exitCodes.fine;
}

const isTable = (form: string) => form === 'text' || form === 'wide';
const acceptOf = (form: string) => (isTable(form) ? asTable : 'application/json');

/** Without the fields of managers, as kubectl shows objects: they are longer than the rest. */
function printObject(context: Context, value: object, form: string): void {
  const text = JSON.stringify(value, (name, member) => (name === 'managedFields' ? undefined : member), 2);
  context.stdout.write(form === 'yaml' ? toYaml(JSON.parse(text)) : `${text}\n`);
}

export async function pagesOf(client: ManagementClient, accept: string): Promise<Record<string, unknown>[]> {
  const pages: Record<string, unknown>[] = [];
  let after = '';
  do {
    const query = new URLSearchParams({ limit: String(pageSize), ...(after === '' ? {} : { continue: after }) });
    const { body } = await client.ask({ method: 'GET', path: `${keysPath}?${query}`, accept });
    pages.push(body);
    after = textAt(body, 'metadata', 'continue');
  } while (after !== '' && pages.length < mostPages);
  return pages;
}

/** All objects of a list, or those of one maker. */
export function itemsIn(pages: readonly Record<string, unknown>[], maker: string | undefined) {
  const items = pages.flatMap((page) => recordsIn(page['items']));
  return maker === undefined ? items : items.filter((item) => isMadeBy(item, maker));
}

/** Returns the number of rows. */
function printTable(
  context: Context,
  pages: readonly Record<string, unknown>[],
  { form, maker }: { form: string; maker: string | undefined },
): number {
  const all = pages.flatMap((page) => recordsIn(page['columnDefinitions']).map((column) => textAt(column, 'name')));
  const shown = form === 'wide' ? [...new Set(all)] : few;
  const rows = pages.flatMap((page) => {
    const titles = recordsIn(page['columnDefinitions']).map((column) => textAt(column, 'name'));
    const places = shown.map((title) => titles.indexOf(title));
    const made = recordsIn(page['rows']).filter(({ object }) => maker === undefined || isMadeBy(object, maker));
    return made.map(({ cells }) => {
      const all: unknown[] = Array.isArray(cells) ? cells : [];
      return places.map((place) => String(all[place] ?? ''));
    });
  });
  if (rows.length === 0) return 0;
  const columns = shown.map((title) => ({
    title: title.toUpperCase(),
    ...(title === 'Name' ? { shrinksTo: 20 } : {}),
  }));
  const width = context.stdout.columns ?? Number.POSITIVE_INFINITY;
  context.stdout.write(`${textTable(columns, rows, width).join('\n')}\n`);
  return rows.length;
}

/** On each key: who made it, and who rotated it last. */
const marks = ['hostward.dev/created-by', 'hostward.dev/rotated-by'];
const kinds = /^(?:user|team|subject|key|os):./;

/** Undefined without the option. `alice` is the user; other makers have their kind in front, like `team:red` or `os:root`. */
export function makerIn(options: Options): string | undefined {
  const text = options.text('made-by');
  if (text === undefined) return undefined;
  if (text === '' || /\s/.test(text))
    throw new CommandFault(exitCodes.usage, `--made-by wants the name of a user, found "${text}"`, {
      hint: 'write alice for a user, or another maker like team:red, key:ci or os:root',
    });
  return kinds.test(text) ? text : `user:${text}`;
}

/** `object` has metadata, as an object or as the row of a table. */
function isMadeBy(object: unknown, maker: string): boolean {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  return marks.some((mark) =>
    String(annotations[mark] ?? '')
      .split(' ')
      .includes(maker),
  );
}
