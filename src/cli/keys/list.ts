// `hostward keys list`: a table of access keys as the server lays it out, or the objects in JSON.
import { isRecord } from '../../object/text/json.ts';
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { textTable } from '../line/text-table.ts';
import { keysPath, type ManagementClient } from './management-client.ts';
import { textAt } from './print-key.ts';
import { withServer } from './reach-server.ts';

const pageSize = 500;
/** Ten million keys: a server that says after so many pages that there are more is not to be believed. */
const mostPages = 20_000;
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const shown = ['Name', 'Owner', 'Status', 'Expires', 'Last used'];

export async function listKeys(context: Context, options: Options): Promise<ExitCode> {
  const isJson = options.choice('output') === 'json';
  const pages = await withServer(context, options, (client) => pagesOf(client, isJson ? 'application/json' : asTable));
  if (isJson) printObjects(context, pages);
  else printTable(context, pages);
  return exitCodes.fine;
}

async function pagesOf(client: ManagementClient, accept: string): Promise<Record<string, unknown>[]> {
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

function printObjects(context: Context, pages: readonly Record<string, unknown>[]): void {
  const items = pages.flatMap((page) => listIn(page, 'items'));
  const list = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKeyList', items };
  context.stdout.write(`${JSON.stringify(list, undefined, 2)}\n`);
}

function printTable(context: Context, pages: readonly Record<string, unknown>[]): void {
  const rows = pages.flatMap((page) => {
    const titles = listIn(page, 'columnDefinitions').map((column) => textAt(column, 'name'));
    const places = shown.map((title) => titles.indexOf(title));
    return listIn(page, 'rows').map(({ cells }) => {
      const all: unknown[] = Array.isArray(cells) ? cells : [];
      return places.map((place) => String(all[place] ?? ''));
    });
  });
  if (rows.length === 0) {
    context.stderr.write('there are no access keys\n');
    return;
  }
  const columns = shown.map((title) => ({
    title: title.toUpperCase(),
    ...(title === 'Name' ? { shrinksTo: 20 } : {}),
  }));
  const width = context.stdout.columns ?? Number.POSITIVE_INFINITY;
  context.stdout.write(`${textTable(columns, rows, width).join('\n')}\n`);
}

function listIn(value: Record<string, unknown>, name: string): Record<string, unknown>[] {
  const list = value[name];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
