// The playground as `hostward playground` serves it, with its real sandbox, in the real browser; and what a reader does there.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { LocalServer } from '../../../src/apiserver/local/local-server.ts';
import { Evaluations } from '../../../src/cli/offline/playground/evaluations.ts';
import { systemClock } from '../../../src/clock.ts';
import { Assets } from '../../../src/pages/frame/assets.ts';
import { Playground } from '../../../src/pages/playground/playground.ts';
import { findChromium, openChromium, openPage, type WatchedPage } from './chromium.ts';

export const found = findChromium();
export const token = 'a-token-of-this-test';
export const assets = new Assets();

export class PlaygroundStage {
  /** The pages of the running test. */
  readonly opened: WatchedPage[] = [];
  #browser: Browser | undefined;
  #server: LocalServer | undefined;
  #evaluations: Evaluations | undefined;
  #origin = '';

  get origin(): string {
    return this.#origin;
  }

  async start(program: string): Promise<void> {
    this.#browser = await openChromium(program);
    this.#evaluations = new Evaluations({ clock: systemClock, nodePath: process.execPath });
    const { evaluate } = this.#evaluations;
    const routes = [new Playground({ evaluate, token, isAlone: true, assets })];
    this.#server = new LocalServer({ listen: { host: '127.0.0.1', port: 0 }, routes });
    await this.#server.start();
    this.#origin = `http://127.0.0.1:${this.#server.address.port}`;
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.#server?.stop();
    await this.#evaluations?.stop();
  }

  /** A page without the playground yet. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const watched = await openPage(this.#browser as Browser, this.#origin, options);
    this.opened.push(watched);
    return watched.page;
  }

  async open(fragment = `token=${token}`, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.page(options);
    await page.goto(`${this.#origin}/playground#${fragment}`);
    return page;
  }

  async endTest(): Promise<void> {
    for (const { page, troubles } of this.opened.splice(0)) {
      // An address to come from that has no page is told by the browser too.
      expect(troubles.filter((one) => !/status of 404/.test(one))).toEqual([]);
      await page.context().close();
    }
  }
}

export function openedPlayground(): PlaygroundStage {
  const stage = new PlaygroundStage();
  beforeAll(async () => {
    if (found.program !== undefined) await stage.start(found.program);
  }, 60_000);
  afterAll(() => stage.stop());
  afterEach(() => stage.endTest());
  return stage;
}

export async function write(page: Page, id: string, text: string): Promise<void> {
  await page.locator(`#text-${id} .cm-content`).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}

export const added = (page: Page, text: string) => page.locator('.diff ins', { hasText: text });
export const marks = (page: Page) => page.locator('.marks li');

export const object = (labels: string) => `apiVersion: v1
kind: Endpoints
metadata:
  name: db
  namespace: shop
  labels: {${labels}}
subsets:
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 5432}]
`;
export const patch = (expression: string, rest = '') =>
  `- path: metadata.labels["team"]\n  expression: ${expression}\n${rest}`;
