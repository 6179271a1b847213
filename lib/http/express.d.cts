import express = require('express');

declare const loaded: typeof express | undefined;
export = loaded;
