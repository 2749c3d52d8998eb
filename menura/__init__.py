"""Menura: text to speech on your own machine.

```python
import menura
tts = menura.load()
tts.speak("Hello from Menura.").save("hello.wav")
```
"""

__version__ = "0.1.0"
