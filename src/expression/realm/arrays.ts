// Code that runs inside the isolate: bounded array methods. V8 cannot interrupt its own array methods, so they would run for hours
// on a huge or sparse array, or on an object that claims a huge length.

export const realmArrays = `
const list = (self, extra) => {
  if (!isArray(self)) throw new TypeFault('array methods need an array');
  if (self.length + extra > limits.elements) tooMany();
  return self;
};
const callable = (f) => {
  if (typeof f !== 'function') throw new TypeFault('wanted a function');
  return f;
};
const nativeArrays = {};
for (const name of ownKeys(NativeArray.prototype)) {
  if (typeof name === 'string') nativeArrays[name] = NativeArray.prototype[name];
}
const sortNative = uncurry(NativeArray.prototype.sort);
const byText = (a, b) => {
  const [left, right] = [stringOf(a), stringOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
};
const flatten = (source, depth, into) => {
  for (let at = 0; at < source.length; at++) {
    if (!(at in source)) continue;
    const element = source[at];
    if (depth > 0 && isArray(element)) flatten(element, depth - 1, into);
    else {
      if (into.length >= limits.elements) tooMany();
      into[into.length] = element;
    }
  }
  return into;
};
const collect = (source, convert) => {
  const out = [];
  const take = (element) => {
    if (out.length >= limits.elements) tooMany();
    out[out.length] = convert === undefined ? element : convert(element, out.length);
  };
  if (source === null || source === undefined) throw new TypeFault('wanted something to make an array of');
  if (typeof source[iteratorSymbol] === 'function') {
    for (const element of source) take(element);
    return out;
  }
  const length = NativeNumber(source.length);
  if (length > limits.elements) tooMany();
  for (let at = 0; at < length; at++) take(source[at]);
  return out;
};

const arrayMethods = {
  concat(...others) {
    let total = list(this, 0).length;
    for (let at = 0; at < others.length; at++) total += isArray(others[at]) ? others[at].length : 1;
    if (total > limits.elements) tooMany();
    return apply(nativeArrays.concat, this, others);
  },
  push(...items) {
    return apply(nativeArrays.push, list(this, items.length), items);
  },
  unshift(...items) {
    return apply(nativeArrays.unshift, list(this, items.length), items);
  },
  splice(...args) {
    return apply(nativeArrays.splice, list(this, args.length), args);
  },
  toSpliced(...args) {
    return apply(nativeArrays.toSpliced, list(this, args.length), args);
  },
  // The comparison is always a function of the realm, because V8 checks the time limit when it calls one.
  sort(compare) {
    const order = compare === undefined ? byText : callable(compare);
    return sortNative(list(this, 0), (a, b) => order(a, b));
  },
  toSorted(compare) {
    const order = compare === undefined ? byText : callable(compare);
    return sortNative(apply(nativeArrays.slice, list(this, 0), []), (a, b) => order(a, b));
  },
  join(separator) {
    const glue = separator === undefined ? ',' : stringOf(separator);
    list(this, 0);
    let text = '';
    for (let at = 0; at < this.length; at++) {
      const element = this[at];
      if (at > 0) text += glue;
      if (element !== null && element !== undefined) text += stringOf(element);
      if (text.length > limits.text) tooLong();
    }
    return text;
  },
  toString() {
    return apply(arrayMethods.join, this, []);
  },
  // Comparing two long texts takes time too, so these methods call a function of the realm for each element.
  indexOf(wanted, from) {
    const first = startOf(from, list(this, 0).length);
    return apply(nativeArrays.findIndex, this, [(element, at) => element === wanted && at >= first && at in this]);
  },
  lastIndexOf(wanted, ...rest) {
    const length = list(this, 0).length;
    const last = rest.length === 0 ? length - 1 : startOf(rest[0], length);
    return apply(nativeArrays.findLastIndex, this, [(element, at) => element === wanted && at <= last && at in this]);
  },
  includes(wanted, from) {
    const first = startOf(from, list(this, 0).length);
    return apply(nativeArrays.some, apply(nativeArrays.slice, this, []), [
      (element, at) => at >= first && (element === wanted || (element !== element && wanted !== wanted)),
    ]) || (wanted === undefined && apply(nativeArrays.findIndex, this, [(element, at) => at >= first && element === undefined]) >= 0);
  },
  flat(depth) {
    return flatten(list(this, 0), depth === undefined ? 1 : NativeNumber(depth), []);
  },
  flatMap(convert) {
    callable(convert);
    const mapped = apply(nativeArrays.map, list(this, 0), [(element, at, all) => convert(element, at, all)]);
    return flatten(mapped, 1, []);
  },
};
const startOf = (from, length) => {
  const at = from === undefined ? 0 : NativeNumber(from) || 0;
  return at < 0 ? length + at : at;
};
// A native function as callback could not be interrupted, so each callback is wrapped in a function of the realm.
for (const name of ['every', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'forEach', 'map', 'some']) {
  const native = nativeArrays[name];
  arrayMethods[name] = {
    [name](f) {
      list(this, 0);
      callable(f);
      return apply(native, this, [(element, at, all) => f(element, at, all)]);
    },
  }[name];
}
for (const name of ['reduce', 'reduceRight']) {
  const native = nativeArrays[name];
  arrayMethods[name] = {
    [name](f, ...initial) {
      list(this, 0);
      callable(f);
      return apply(native, this, [(sum, element, at, all) => f(sum, element, at, all), ...initial]);
    },
  }[name];
}
for (const name of ['at', 'copyWithin', 'entries', 'fill', 'keys', 'pop', 'reverse', 'shift', 'slice', 'toReversed', 'values', 'with']) {
  const native = nativeArrays[name];
  arrayMethods[name] = { [name](...args) { return apply(native, list(this, 0), args); } }[name];
}

function BoundedArray(...args) {
  if (args.length !== 1 || typeof args[0] !== 'number') return collect(args);
  if (args[0] > limits.elements) tooMany();
  return new NativeArray(args[0]);
}
const arrayStatics = {
  isArray,
  of: (...items) => collect(items),
  from(source, convert) {
    return collect(source, convert === undefined ? undefined : callable(convert));
  },
};
`;
