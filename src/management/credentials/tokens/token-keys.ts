// The keys that sign direct tokens, in a file next to the other secrets. In: a folder, a clock. Out: the key that signs now and the
// public keys of all tokens that can still be alive. A new key is published before it signs, and an old one stays published until
// its last token has ended, so that no request is refused because of a rotation.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { textOfFile, writeOnce, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import { serviceUnavailable, soonSeconds } from '../../../object/meta/status.ts';
import { isRecord } from '../../../object/text/json.ts';
import { tokenKeysFile } from '../../keys/folder/data-folder.ts';
import { longestTokenTTL, tokenType } from '../claims/claims.ts';
import { type KeySet, maxKeys, readKeySet } from '../claims/key-set.ts';

/** As people see a key, and as heartbeats name it. */
export function shortKeyId(id: string): string {
  return id.slice(0, shortIdLength);
}

export const shortIdLength = 12;

/** Limits the damage of a key that leaks unnoticed. */
export const rotateEveryMs = 30 * 24 * 60 * 60 * 1000;
/** Verifiers may keep the key set for this time. */
export const keySetMaxAgeSeconds = 300;
/** A published key waits until no verifier has an older set, and once more as long for slow ones. */
export const publishedAheadMs = 2 * keySetMaxAgeSeconds * 1000;
/** A key stays published until its last token has ended everywhere, even where a clock is slow. */
const keptAfterMs = (longestTokenTTL + 300) * 1000;

interface TokenKey {
  id: string;
  /** When the key begins to sign. */
  signsFromMs: number;
  privateKey: KeyObject;
  publicJWK: JWK;
}

export class TokenKeys {
  /** No token from before can be proved any more. */
  readonly areNew: boolean;
  readonly #path: string;
  /** Sorted by the time at which they begin to sign. */
  #keys: TokenKey[];
  #keySet: KeySet = new Map();
  #changing: Promise<void> = Promise.resolve();
  /** Where several replicas sign. */
  #agreed: { id: string; sinceMs: number } | undefined;

  private constructor(path: string, keys: TokenKey[], areNew: boolean) {
    this.areNew = areNew;
    this.#path = path;
    this.#keys = keys;
    this.#publish();
  }

  /** The first key signs at once: there is no older key set anywhere. */
  static async open(folder: string, nowMs: number): Promise<TokenKeys> {
    const path = join(folder, tokenKeysFile);
    const text = await textOfFile(path);
    if (text !== undefined) return new TokenKeys(path, await keysIn(text, path), false);
    // Another replica may make them at the same time.
    const made = textOfKeys([await newKey(nowMs)]);
    const there = await writeOnce(path, made);
    return new TokenKeys(path, await keysIn(there, path), there === made);
  }

  /** Whether no program has made keys in this folder. */
  static async areAbsentIn(folder: string): Promise<boolean> {
    return (await textOfFile(join(folder, tokenKeysFile))) === undefined;
  }

  /** The public key set for `/.well-known/jwks.json`. */
  get document(): { keys: JWK[] } {
    return { keys: this.#keys.map(({ publicJWK }) => publicJWK) };
  }

  get keySet(): KeySet {
    return this.#keySet;
  }

  /** Ids of the keys that are here, newest first. */
  get ids(): readonly string[] {
    return this.#keys.map(({ id }) => id).reverse();
  }

  /** The newest key whose time has come. */
  due(nowMs: number): string {
    return (this.#keys.findLast(({ signsFromMs }) => signsFromMs <= nowMs) ?? (this.#keys[0] as TokenKey)).id;
  }

  /** From now on this key signs, since then, and no other: several replicas agree on it. */
  signWith(id: string, sinceMs: number): void {
    this.#agreed = { id, sinceMs };
  }

  async sign(payload: Record<string, unknown>, nowMs: number): Promise<string> {
    const key = this.#signing(nowMs);
    const header = { alg: 'EdDSA', typ: tokenType, kid: key.id };
    return new SignJWT(payload).setProtectedHeader(header).sign(key.privateKey);
  }

  /** Publishes the next key in time and removes ended keys. Called regularly. */
  async keepUp(nowMs: number): Promise<void> {
    await this.#change((keys) => {
      const last = keys.at(-1) as TokenKey;
      return nowMs >= last.signsFromMs + rotateEveryMs - publishedAheadMs;
    }, nowMs);
  }

  /** Takes what another replica has written into the folder: it publishes a key long before the key signs. */
  async readAgain(): Promise<void> {
    await this.#inTurn(async () => {
      const text = await textOfFile(this.#path);
      if (text === undefined) return;
      const keys = await keysIn(text, this.#path);
      if (keys.map(({ id }) => id).join() === this.#keys.map(({ id }) => id).join()) return;
      this.#keys = keys;
      this.#publish();
    });
  }

  /** Publishes a new key now. The key signs only after verifiers have had time to fetch it. */
  async rotate(nowMs: number): Promise<void> {
    await this.#change(() => true, nowMs);
  }

  async #change(wantsNew: (keys: readonly TokenKey[]) => boolean, nowMs: number): Promise<void> {
    await this.#inTurn(() => this.#write(wantsNew, nowMs));
  }

  /** Changes run one after the other, because two must not write the file at the same time. */
  async #inTurn(run: () => Promise<void>): Promise<void> {
    this.#changing = this.#changing.then(run, run);
    await this.#changing;
  }

  async #write(wantsNew: (keys: readonly TokenKey[]) => boolean, nowMs: number): Promise<void> {
    const signs = this.#keys.findIndex(({ id }) => id === this.#agreed?.id);
    const kept = this.#keys.filter((_key, at) => {
      const next = this.#keys[at + 1];
      if (next === undefined || (signs >= 0 && at >= signs)) return true;
      // Replicas may have agreed on the next key later than it could have signed.
      const sinceMs = at + 1 === signs ? (this.#agreed?.sinceMs ?? 0) : 0;
      return nowMs < Math.max(next.signsFromMs, sinceMs) + keptAfterMs;
    });
    const isFull = kept.length >= maxKeys;
    if (wantsNew(this.#keys) && !isFull) kept.push(await newKey(nowMs + publishedAheadMs));
    if (kept.length === this.#keys.length && kept.every((key, at) => key === this.#keys[at])) return;
    // The file first: after a crash the server must still have every key that a verifier may know.
    await writeWhole(this.#path, textOfKeys(kept));
    this.#keys = kept;
    this.#publish();
  }

  #publish(): void {
    this.#keySet = readKeySet(this.document) ?? new Map();
  }

  #signing(nowMs: number): TokenKey {
    const id = this.#agreed?.id ?? this.due(nowMs);
    const key = this.#keys.find((one) => one.id === id);
    if (key !== undefined) return key;
    throw new StatusFault(
      serviceUnavailable('the key that signs tokens now has not arrived at this replica', soonSeconds),
    );
  }
}

async function newKey(signsFromMs: number): Promise<TokenKey> {
  return keyOf(generateKeyPairSync('ed25519').privateKey, signsFromMs);
}

async function keyOf(privateKey: KeyObject, signsFromMs: number): Promise<TokenKey> {
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as JWK;
  const id = await calculateJwkThumbprint(jwk);
  const publicJWK = { ...jwk, kid: id, alg: 'EdDSA', use: 'sig' };
  return { id, signsFromMs, privateKey, publicJWK };
}

function textOfKeys(keys: readonly TokenKey[]): string {
  const stored = keys.map(({ signsFromMs, privateKey }) => ({
    signsFromMs,
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }),
  }));
  return `${JSON.stringify({ keys: stored }, undefined, 2)}\n`;
}

async function keysIn(text: string, path: string): Promise<TokenKey[]> {
  try {
    const value: unknown = JSON.parse(text);
    const stored = isRecord(value) && Array.isArray(value['keys']) ? value['keys'].filter(isRecord) : [];
    if (stored.length === 0) throw new Error('there is no key');
    return await Promise.all(
      stored.map(({ privateKey, signsFromMs }) => keyOf(createPrivateKey(String(privateKey)), Number(signsFromMs))),
    );
  } catch {
    throw new Error(
      `read ${path}: want the keys that sign tokens, the file is damaged; restore it, or remove it to end all tokens`,
    );
  }
}
