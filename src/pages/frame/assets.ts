// The scripts and styles of the pages, under names that hold a hash of their bytes. In a package they lie in dist/pages/; in a
// checkout the bundler makes them at the first request, so that `npm ci` is enough to run everything.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { LocalReply } from '../../apiserver/local/routes.ts';

export const assetsPath = '/assets/';

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
};

/** Hashed name → bytes. */
export type AssetFiles = ReadonlyMap<string, Uint8Array>;

export class Assets {
  readonly #load: () => Promise<AssetFiles>;
  #loaded: Promise<AssetFiles> | undefined;

  constructor(load: () => Promise<AssetFiles> = loadFiles) {
    this.#load = load;
  }

  /** Loads once; a failed load is tried again by the next request. */
  files(): Promise<AssetFiles> {
    this.#loaded ??= this.#load().catch((fault: unknown) => {
      this.#loaded = undefined;
      throw fault;
    });
    return this.#loaded;
  }

  /** The path of an asset by its plain name, such as `status.js`. */
  async path(name: string): Promise<string> {
    const [stem, ending] = name.split('.') as [string, string];
    for (const file of (await this.files()).keys())
      if (file.startsWith(`${stem}-`) && file.endsWith(`.${ending}`)) return `${assetsPath}${file}`;
    throw new Error(`there is no asset "${name}"`);
  }

  async answer(path: string): Promise<LocalReply> {
    const name = path.slice(assetsPath.length);
    const bytes = (await this.files()).get(name);
    if (bytes === undefined)
      return { status: 404, contentType: 'text/plain; charset=utf-8', text: 'there is no such file\n' };
    const contentType = types[name.split('.').at(-1) as string] ?? 'application/octet-stream';
    // The name changes with the bytes, so a browser never asks again.
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' };
    return { status: 200, contentType, text: bytes, headers };
  }
}

async function loadFiles(): Promise<AssetFiles> {
  const built = new URL('./pages/', import.meta.url);
  if (existsSync(built))
    return new Map(readdirSync(built).map((name) => [name, readFileSync(new URL(name, built))] as const));
  // Not a literal: the bundle must not contain the bundler, and never gets here.
  const bundler: string = '../../launcher/browser.mjs';
  const { bundleForBrowser } = (await import(bundler)) as { bundleForBrowser(): Promise<AssetFiles> };
  return bundleForBrowser();
}
