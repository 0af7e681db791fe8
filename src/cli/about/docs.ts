// `hostward docs`: the pages that the package and the image bring along, so that the pages belong to the version that runs. In:
// the name of a page, and of a section of it. Out: the text of the page, or the list of all pages.
import { join } from 'node:path';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { textTable } from '../line/text-table.ts';

interface Page {
  name: string;
  title: string;
  text: string;
}

export async function docs(context: Context, options: Options): Promise<ExitCode> {
  const [wanted, section] = options.operands;
  const isJson = options.choice('output') === 'json';
  const pages = await readPages(context);
  const print = (text: string, data: object) =>
    context.stdout.write(isJson ? `${JSON.stringify(data, undefined, 2)}\n` : text);
  if (wanted === undefined) {
    const rows = pages.map(({ name, title }) => [name, title]);
    const table = textTable(
      [{ title: 'PAGE' }, { title: 'TITLE', shrinksTo: 20 }],
      rows,
      context.stdout.columns ?? 120,
    );
    const list = pages.map(({ name, title }) => ({ name, title }));
    print(
      `${table.join('\n')}\n\nhostward docs PAGE prints a page; the page "README" lists the pages by task.\n`,
      list,
    );
    return exitCodes.fine;
  }
  const page = pageNamed(wanted, pages);
  const text = section === undefined ? page.text : sectionOf(page, section);
  print(text, { name: page.name, title: page.title, text });
  return exitCodes.fine;
}

async function readPages(context: Context): Promise<Page[]> {
  const folder = join(context.packageFolder, 'docs');
  const files = (await context.files.list(folder)).filter((file) => file.endsWith('.md'));
  return Promise.all(
    files.map(async (file) => {
      const text = await context.files.read(join(folder, file));
      return { name: file.slice(0, -'.md'.length), title: /^# (.*)/.exec(text)?.[1] ?? '', text };
    }),
  );
}

/** Takes the file's name as well, because other pages link to it. */
function pageNamed(wanted: string, pages: readonly Page[]): Page {
  const name = wanted.replace(/^docs\//, '').replace(/\.md$/, '');
  const page = pages.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (page !== undefined) return page;
  const known = pages.map((one) => one.name);
  const meant = nearestKey(name, known);
  throw new CommandFault(exitCodes.usage, `wanted a page, found "${wanted}"`, {
    hint: meant === undefined ? `the pages are ${known.join(', ')}` : `did you mean "${meant}"? See hostward docs`,
  });
}

/** From the heading to the next one of the same level or above. */
function sectionOf(page: Page, wanted: string): string {
  const lines = page.text.split('\n');
  const levelOf = (line: string | undefined) => /^#+(?= )/.exec(line ?? '')?.[0].length ?? 0;
  const titleOf = (line: string) => line.replace(/^#+ /, '');
  const isHeading = fences(lines);
  const start = lines.findIndex((line, at) => isHeading(at) && isSame(titleOf(line), wanted));
  if (start < 0) {
    const titles = lines.filter((line, at) => isHeading(at) && levelOf(line) > 1).map(titleOf);
    const meant = nearestKey(wanted, titles);
    throw new CommandFault(exitCodes.usage, `the page "${page.name}" has no section "${wanted}"`, {
      hint: meant === undefined ? `its sections are ${titles.join(', ')}` : `did you mean "${meant}"?`,
    });
  }
  const level = levelOf(lines[start]);
  const length = lines.slice(start + 1).findIndex((line, at) => isHeading(start + 1 + at) && levelOf(line) <= level);
  return `${lines
    .slice(start, length < 0 ? undefined : start + 1 + length)
    .join('\n')
    .trimEnd()}\n`;
}

const isSame = (title: string, wanted: string) => anchor(title) === anchor(wanted);
const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** Says which lines are headings: a comment of a shell inside a block of code looks like one. */
function fences(lines: readonly string[]): (at: number) => boolean {
  let isCode = false;
  const headings = lines.map((line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    return !isCode && /^#+ /.test(line);
  });
  return (at) => headings[at] ?? false;
}
