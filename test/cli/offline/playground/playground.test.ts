import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { linkOf } from '../../../../src/pages/playground-link.ts';
import { type Scene, type SceneOptions, scene } from '../../scene.ts';

const running: { on: Scene; ended: Promise<number> }[] = [];
afterEach(async () => {
  for (const { on, ended } of running.splice(0)) {
    on.send('stop');
    expect(await ended).toBe(0);
  }
});

interface Opened extends Scene {
  url: URL;
  /** Addresses that the desktop was asked to open, and the files of that moment. */
  desktop: string[];
}

async function start(argv: string[], options: SceneOptions = {}): Promise<Opened> {
  const on = scene(options);
  const desktop: string[] = [];
  const context = {
    ...on.context,
    openFile: async (url: string) => {
      desktop.push(url);
      return true;
    },
  };
  const ended = runCommandLine(context, ['playground', ...argv]);
  running.push({ on, ended });
  const isThere = () => /http:\/\/\S+/.exec(on.out())?.[0];
  while (isThere() === undefined || (options.columns !== undefined && desktop.length === 0))
    await new Promise((resolve) => setImmediate(resolve));
  return { ...on, url: new URL((isThere() as string).replace(/"}$/, '')), desktop };
}

/** The whole answer; fetch would send the host of the address. */
function rawly(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

const given = { config: '- path: a', virtual: 'kind: Endpoints' };

describe('hostward playground', () => {
  it('prints an address whose token opens the port, and ends at Ctrl-C', async () => {
    const { url } = await start([]);
    expect(url.pathname).toBe('/playground');
    const token = new URLSearchParams(url.hash.slice(1)).get('token');
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const asked = await fetch(new URL('/api/eval', url), { method: 'POST', headers, body: '{"expression":"1 + 1"}' });
    expect([asked.status, await asked.json()]).toEqual([200, { value: 2 }]);
  });

  it('opens a browser by way of a file that only this user reads, and removes the file', async () => {
    const { url, desktop, files } = await start([], { columns: 80 });
    const [opened = ''] = desktop;
    expect(opened).toMatch(/^file:\/\/.*\/open\.html$/);
    expect(opened).not.toContain(url.hash);
    const path = decodeURIComponent(new URL(opened).pathname);
    expect(files.get(path)?.mode).toBe(0o600);
    expect(files.get(path)?.text).toContain(`content="0; url=${url.href}"`);
    const [{ on, ended }] = running.splice(0) as [(typeof running)[number]];
    on.send('stop');
    expect(await ended).toBe(0);
    expect(files.has(path)).toBe(false);
  });

  it('opens no browser without a terminal, nor where it is told not to', async () => {
    expect((await start([])).desktop).toEqual([]);
    expect((await start(['-o', 'json'])).desktop).toEqual([]);
    const on = scene({ columns: 80 });
    let hasOpened = false;
    const openFile = async () => {
      hasOpened = true;
      return true;
    };
    const ended = runCommandLine({ ...on.context, openFile }, ['playground', '--no-browser']);
    while (!on.out().includes('Ctrl-C')) await new Promise((resolve) => setImmediate(resolve));
    on.send('stop');
    expect([await ended, hasOpened]).toEqual([0, false]);
  });

  it('opens a link that somebody shared, whole or only its end, without the token in it', async () => {
    const link = await linkOf(given);
    const whole = `http://127.0.0.1:1/playground#token=theirs&case=${link}`;
    // As a mail program folds it, and with the end of its line.
    const folded = `${whole.replace(/.{20}/g, '$&\n')}\n`;
    for (const said of [whole, `#case=${link}`, link, folded, `${link}\n`]) {
      const { url } = await start([said]);
      const fragment = new URLSearchParams(url.hash.slice(1));
      expect(fragment.get('case')).toBe(link);
      expect(fragment.get('token')).not.toBe('theirs');
    }
  });

  it('says what is wrong with a link or an address', async () => {
    const link = await linkOf(given);
    for (const [argv, code, sentence] of [
      [[link.slice(0, -9)], 1, 'the link is cut or changed; copy it again, as a whole'],
      [['9.abc'], 1, 'another version of the playground'],
      [['http://127.0.0.1:1/playground'], 1, 'the link holds no case'],
      [['--listen', 'here'], 2, '--listen wants HOST:PORT, found "here"'],
    ] as const) {
      const on = scene();
      expect(await runCommandLine(on.context, ['playground', ...argv])).toBe(code);
      expect(on.err()).toContain(sentence);
      // Quotes help against a shell that cuts the link, and against nothing else.
      expect(on.err().includes('in quotes')).toBe(sentence.includes('the link '));
    }
  });

  it('sends a page that has rebound its name away, and names the option that admits a name', async () => {
    const { url } = await start([]);
    const answers = [];
    for (const path of ['/', '/playground', '/api/render', '/assets/none', '/none'])
      answers.push(
        await rawly(Number(url.port), `GET ${path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n`),
      );
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1.1 421 /);
      expect(answer).toMatch(/this port answers to localhost, to IP addresses and to the name in --listen\n$/);
    }
  });
});
