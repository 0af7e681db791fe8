// Finds the position of a setting after the configuration is loaded. Other rooms compile paths and expressions, and their
// faults appear in the same report.
import type { Position } from '../fault.ts';
import { positionInText } from './scalar-positions.ts';
import type { SettingsPath } from './settings-path.ts';
import { find, type TreeNode } from './tree.ts';

export class Positions {
  readonly #root: TreeNode | undefined;

  constructor(root: TreeNode | undefined) {
    this.#root = root;
  }

  /** The position of the value at the path, or of its nearest parent; undefined only without a file. */
  positionOf(path: SettingsPath): Position | undefined {
    const node = this.#nearest(path);
    return node?.span.source.positionAt(node.span.start);
  }

  /** The position of a place inside a text value; line and column count from 1 in the value. */
  positionInScalar(path: SettingsPath, line: number, column: number): Position | undefined {
    const node = find(this.#root, path);
    if (node?.kind !== 'scalar') return this.positionOf(path);
    return positionInText(node, line, column);
  }

  #nearest(path: SettingsPath): TreeNode | undefined {
    for (let length = path.length; length >= 0; length--) {
      const node = find(this.#root, path.slice(0, length));
      if (node !== undefined) return node;
    }
    return undefined;
  }
}
