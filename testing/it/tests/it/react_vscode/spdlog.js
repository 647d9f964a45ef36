// Stands in for the editor's native log library, which would have to be compiled: output channels are files that it writes.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warn", "error", "critical"];

class Logger {
  constructor(type, name, file) {
    this.file = file;
    this.level = 2;
    this.plain = false;
    fs.mkdirSync(path.dirname(file), { recursive: true });
    LEVELS.forEach((word, level) => {
      this[word] = (text) => {
        if (level >= this.level) {
          fs.appendFileSync(this.file, this.plain ? text : `${new Date().toISOString()} [${word}] ${text}\n`);
        }
      };
    });
  }
  getLevel() {
    return this.level;
  }
  setLevel(level) {
    this.level = level;
  }
  clearFormatters() {
    this.plain = true;
  }
  setPattern() {}
  flush() {}
  drop() {}
}

const create = async (name, file) => new Logger("rotating", name, file);

// One by one, because that is what an `import` of it finds.
exports.version = 1;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
