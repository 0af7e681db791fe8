import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { scene } from '../scene.ts';

const folder = fileURLToPath(new URL('../../../docs', import.meta.url));
const names = readdirSync(folder).filter((file) => file.endsWith('.md'));
const pages = Object.fromEntries(
  names.map((file) => [`/opt/hostward/docs/${file}`, readFileSync(`${folder}/${file}`, 'utf8')]),
);

async function docs(...words: string[]) {
  const { context, out, err } = scene({ files: pages });
  const code = await runCommandLine(context, ['docs', ...words]);
  return { code, out: out(), err: err() };
}

describe('hostward docs', () => {
  it('lists every page with its title', async () => {
    const { code, out } = await docs();
    expect(code).toBe(0);
    for (const name of names) expect(out).toMatch(new RegExp(`^${name.replace('.md', '')} +\\S`, 'm'));
  });

  it.each(names)('prints %s as it is in the folder, by its name, its file and its path', async (file) => {
    const text = pages[`/opt/hostward/docs/${file}`];
    for (const name of [file.replace('.md', ''), file, `docs/${file}`]) expect((await docs(name)).out).toBe(text);
  });

  it('prints one section up to the next heading, for a code of doctor in either case', async () => {
    const { out } = await docs('doctor', 'HW-101');
    expect(out).toMatch(/^### HW-101\n/);
    expect(out).not.toContain('HW-102');
    expect((await docs('doctor', 'hw-101')).out).toBe(out);
  });

  it('takes no comment of a shell for a heading', async () => {
    const page = '# A\n\n## b\n\n```sh\n# not a heading\n```\n\nend\n\n## c\n';
    const { context, out } = scene({ files: { '/opt/hostward/docs/a.md': page } });
    expect(await runCommandLine(context, ['docs', 'a', 'b'])).toBe(0);
    expect(out()).toBe('## b\n\n```sh\n# not a heading\n```\n\nend\n');
  });

  it.each([
    [['docter'], 'wanted a page, found "docter"\ndid you mean "doctor"?'],
    [['doctor', 'HW-999'], 'the page "doctor" has no section "HW-999"'],
  ])('says what is there instead of %j', async (words, sentence) => {
    const { code, out, err } = await docs(...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
  });

  it('prints JSON', async () => {
    expect(JSON.parse((await docs('-o', 'json')).out)).toContainEqual({ name: 'doctor', title: 'Doctor' });
    expect(JSON.parse((await docs('doctor', '-o', 'json')).out)).toMatchObject({ name: 'doctor', title: 'Doctor' });
  });
});

describe('hostward version', () => {
  it('prints what --version prints, and the version of Node', async () => {
    const { context, out } = scene();
    expect(await runCommandLine(context, ['version'])).toBe(0);
    expect(out()).toBe('hostward 1.2.3 (Node 26.0.0)\n');
  });

  it('prints JSON', async () => {
    const { context, out } = scene();
    await runCommandLine(context, ['version', '-o', 'json']);
    expect(JSON.parse(out())).toEqual({ version: '1.2.3', node: '26.0.0' });
  });
});
