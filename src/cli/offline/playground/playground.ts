// `hostward playground`: serves the page for trying patches on this machine until Ctrl-C. In: an address to listen on, and perhaps a
// link with a case. Out: the address of the page with its token, printed, and opened where there is a browser.
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LocalServer } from '../../../apiserver/local/local-server.ts';
import { fromSetting } from '../../../apiserver/wire/listen.ts';
import { parseListen } from '../../../config/settings/text-rules.ts';
import { html } from '../../../pages/frame/html.ts';
import { newToken, Playground, playgroundPath } from '../../../pages/playground/playground.ts';
import { readLink } from '../../../pages/playground-link.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { Evaluations } from './evaluations.ts';

/** On a busy machine the first evaluation waits for its thread and its sandbox to start. */
const answerTimeoutMs = 45_000;

export async function playground(context: Context, options: Options): Promise<ExitCode> {
  const stopped = new Promise<void>((resolve) => context.onSignal('leave', resolve));
  const [link] = options.operands;
  const given = link === undefined ? undefined : await caseIn(link);
  const listen = addressOf(options.text('listen') ?? '127.0.0.1:0');
  const token = newToken();
  const evaluations = new Evaluations(context);
  const routes = [new Playground({ evaluate: evaluations.evaluate, token, isAlone: true })];
  const server = new LocalServer({
    listen,
    routes,
    limits: { answerTimeoutMs },
    names: { names: [listen.host], from: 'the name in --listen' },
  });
  await server.start().catch(fromSetting('--listen'));
  const opened = new OpenedFile(context);
  try {
    const url = `http://${hostOf(listen.host)}:${server.address.port}${playgroundPath}#${fragmentOf(token, given)}`;
    const isJson = options.choice('output') === 'json';
    context.stdout.write(isJson ? `${JSON.stringify({ url })}\n` : `${url}\nCtrl-C ends it\n`);
    if (!isJson && context.stdout.isTerminal && !options.has('no-browser')) await opened.open(url);
    await stopped;
  } finally {
    await server.stop();
    await evaluations.stop();
    await opened.remove();
  }
  return exitCodes.fine;
}

function addressOf(text: string): { host: string; port: number } {
  const address = parseListen(text);
  if (address !== undefined) return address;
  throw new CommandFault(exitCodes.usage, `--listen wants HOST:PORT, found "${text}"`, {
    hint: 'for example --listen 127.0.0.1:8080; port 0 takes a free one',
  });
}

/** A browser cannot open an address that means all addresses of this machine. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

function fragmentOf(token: string, given: string | undefined): string {
  return `token=${token}${given === undefined ? '' : `&case=${given}`}`;
}

/** The case in a link that somebody shared: the whole address, or only what is behind its #. */
async function caseIn(link: string): Promise<string> {
  // Mail programs and terminals fold a long line.
  const whole = link.replace(/\s+/g, '');
  const given = new URLSearchParams(whole.slice(whole.indexOf('#') + 1)).get('case') ?? whole;
  const read = await readLink(given);
  if (read.kind === 'case') return given;
  const hint = "put the link in quotes, so that the shell leaves it whole: hostward playground 'http://…#case=…'";
  throw new CommandFault(exitCodes.input, read.sentence, read.isCut ? { hint } : {});
}

/**
 * Opens an address by way of a file that leads to it. The arguments of a program are seen by every user of the machine, and the address
 * holds the token; only this user may read the file.
 */
class OpenedFile {
  readonly #context: Context;
  #folder: string | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  async open(url: string): Promise<void> {
    const { files, openFile } = this.#context;
    const folder = join(tmpdir(), `hostward-playground-${randomUUID()}`);
    this.#folder = folder;
    await files.makeFolder(folder, { mode: 0o700 });
    const path = join(folder, 'open.html');
    const page = html`<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=${url}">
<title>Hostward playground</title>
<a href="${url}">Hostward playground</a>
`;
    await files.write(path, page.text, { mode: 0o600 });
    // Without a browser the printed address is enough.
    await openFile(pathToFileURL(path).href);
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await this.#context.files.removeFolder(this.#folder);
  }
}
